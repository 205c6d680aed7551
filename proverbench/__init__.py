"""Language-model proofs, written and judged: ProverBench and VerifierBench."""
