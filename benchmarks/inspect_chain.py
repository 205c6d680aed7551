"""The same chain in Inspect AI: ``PYTHON -m benchmarks.inspect_chain ORIGIN`` with a Python that has it installed.

One sample a proof: the policy writes it, R judgments are asked at once, and a scorer reads their verdicts.
"""

import argparse
import asyncio
import os
import re
import tempfile


def main() -> None:
    """Run the chain once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("origin")
    parser.add_argument("--proofs", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--in-flight", type=int, default=64)
    options = parser.parse_args()
    os.environ["MOCK_API_KEY"] = "k"
    os.environ["MOCK_BASE_URL"] = f"{options.origin}/v1"

    from inspect_ai import Task, eval  # type: ignore[import-not-found]
    from inspect_ai.dataset import Sample  # type: ignore[import-not-found]
    from inspect_ai.model import GenerateConfig, get_model  # type: ignore[import-not-found]
    from inspect_ai.scorer import Score, mean, scorer  # type: ignore[import-not-found]
    from inspect_ai.solver import solver  # type: ignore[import-not-found]

    @solver  # type: ignore[untyped-decorator]
    def judge(repeats: int):  # type: ignore[no-untyped-def]
        async def solve(state, generate):  # type: ignore[no-untyped-def]
            state = await generate(state)
            steps = re.findall(r"<step>(.*?)</step>", state.output.completion, re.DOTALL)
            shown = "\n\n".join(f"<step{n}>\n\n{step}\n\n</step{n}>" for n, step in enumerate(steps))
            prompt = f"Judge; give <assessment>, <errors>, <first_error_step>.\n\n{state.input_text}\n\n{shown}"
            model = get_model()
            outputs = await asyncio.gather(*(model.generate(prompt) for _ in range(repeats)))
            state.metadata["verdicts"] = [output.completion for output in outputs]
            return state

        return solve

    @scorer(metrics=[mean()])
    def accepted():  # type: ignore[no-untyped-def]
        async def score(state, target):  # type: ignore[no-untyped-def]
            found = [re.search(r"<first_error_step>\s*(-?\d+)", text) for text in state.metadata["verdicts"]]
            return Score(value=float(all(match is not None and match[1] == "-1" for match in found)))

        return score

    samples = [
        Sample(input=f"Write <step> elements. Let $f_{{{n}}}$ be continuous. " * 4, target="")
        for n in range(options.proofs)
    ]
    with tempfile.TemporaryDirectory() as logs:
        eval(
            Task(
                dataset=samples,
                solver=judge(options.repeats),
                scorer=accepted(),
                config=GenerateConfig(max_connections=options.in_flight, max_tokens=2048),
            ),
            model="openai-api/mock/mock",
            log_dir=logs,
            display="none",
            max_samples=options.in_flight,
        )


if __name__ == "__main__":
    main()
