"""Decimal numbers of any length, where Python's own conversions stop at some thousand digits."""


def decimal_to_int(text: str) -> int:
    """The number that decimal digits write; any length, where ``int`` stops at some thousand digits."""
    if len(text) <= 4_000:
        return int(text)
    low = len(text) // 2
    shift: int = 10**low
    return decimal_to_int(text[:-low]) * shift + decimal_to_int(text[-low:])


def int_to_decimal(number: int) -> str:
    """Decimal digits of a nonnegative number; any length, where ``str`` stops at some thousand digits."""
    if number.bit_length() <= 13_000:
        return str(number)
    low = int(number.bit_length() * 0.30103) // 2
    high, rest = divmod(number, 10**low)
    return int_to_decimal(high) + int_to_decimal(rest).zfill(low)
