"""The order of an export's terms: bottom-up, each after those that it contains."""

from array import array

from proverbench.compression.export import APP, CHILDREN, LAM, LET, MDATA, PI, PROJ, Export


def is_bottom_up(export: Export) -> bool:
    """Whether each term comes after those that it contains."""
    kind, a, b, c = export.kind, export.a, export.b, export.c
    for i, k in enumerate(kind):
        if k in (APP, LAM, PI):
            if a[i] >= i or b[i] >= i:
                return False
        elif k == LET:
            if a[i] >= i or b[i] >= i or c[i] >= i:
                return False
        elif (k == MDATA and a[i] >= i) or (k == PROJ and b[i] >= i):
            return False
    return True


def topological(export: Export) -> list[int] | None:
    """Terms such that each comes after its children; None if there is a circle."""
    order: list[int] = []
    state = bytearray(len(export))  # 0 new, 1 on the path, 2 done
    for start in range(len(export)):
        stack = [start]
        while stack:
            term = stack[-1]
            if state[term] == 2:
                stack.pop()
                continue
            pending = [child for child in export.children(term) if state[child] != 2]
            if not pending:
                state[term] = 2
                order.append(term)
                stack.pop()
                continue
            if any(state[child] == 1 for child in pending) or term in pending:
                return None
            state[term] = 1
            stack += pending
    return order


def permute(export: Export, order: list[int], place: "array[int]") -> None:
    """Put the terms in another order; ``place`` says where each goes."""
    columns = {"a": export.a, "b": export.b, "c": export.c}
    for term, kind in enumerate(export.kind):
        for key in CHILDREN[kind]:
            columns[key][term] = place[columns[key][term]]
    export.kind = bytearray(export.kind[old] for old in order)
    export.info = bytearray(export.info[old] for old in order)
    export.name = array("q", (export.name[old] for old in order))
    export.a = array("q", (export.a[old] for old in order))
    export.b = array("q", (export.b[old] for old in order))
    export.c = array("q", (export.c[old] for old in order))
