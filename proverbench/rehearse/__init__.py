"""A local endpoint that plays latencies and faults: docs/rehearse.md."""

from proverbench.rehearse.plays import ABSENT, ModelReply, Play
from proverbench.rehearse.profile import BatchProfile, Latency, Profile
from proverbench.rehearse.received import Received, Script
from proverbench.rehearse.replies import GeneratedReplies, SavedReplies
from proverbench.rehearse.server import RehearseServer

__all__ = [
    "ABSENT",
    "BatchProfile",
    "GeneratedReplies",
    "Latency",
    "ModelReply",
    "Play",
    "Profile",
    "Received",
    "RehearseServer",
    "SavedReplies",
    "Script",
]
