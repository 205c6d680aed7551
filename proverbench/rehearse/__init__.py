"""A local endpoint that plays latencies and faults."""
