"""What people say of proofs."""
