"""What went wrong in sessions, what repeats, and what to change.

    findings = find(session)                         # events, material, outcome: rows to keep on ingest
    patterns = find_patterns(materials, events)      # over many sessions, from their rows alone
    suggestions = suggest(patterns, events)

Names are fetched when first used: reading stored events needs none of the detectors.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .detectors import DETECTORS, Findings, find, find_events, kind_meanings
    from .patterns import (
        AskedPrompt,
        CountedPhrase,
        Material,
        PatternKind,
        PatternMoment,
        RepeatedPattern,
        Rule,
        find_patterns,
    )
    from .refusals import InstructionEdit, SessionOutcome
    from .scene import Cause, Detector, FrictionKind, Loss, Moment
    from .suggestions import Suggestion, SuggestionKind, suggest
    from .tool_errors import ErrorClass

_HOME = {
    "AskedPrompt": ".patterns",
    "Cause": ".scene",
    "InstructionEdit": ".refusals",
    "CountedPhrase": ".patterns",
    "DETECTORS": ".detectors",
    "Detector": ".scene",
    "ErrorClass": ".tool_errors",
    "Moment": ".scene",
    "Findings": ".detectors",
    "FrictionKind": ".scene",
    "Loss": ".scene",
    "Material": ".patterns",
    "PatternMoment": ".patterns",
    "SessionOutcome": ".refusals",
    "RepeatedPattern": ".patterns",
    "PatternKind": ".patterns",
    "Rule": ".patterns",
    "Suggestion": ".suggestions",
    "SuggestionKind": ".suggestions",
    "find": ".detectors",
    "find_events": ".detectors",
    "find_patterns": ".patterns",
    "kind_meanings": ".detectors",
    "suggest": ".suggestions",
}

__all__ = [
    "DETECTORS",
    "AskedPrompt",
    "Cause",
    "CountedPhrase",
    "Detector",
    "ErrorClass",
    "Findings",
    "FrictionKind",
    "InstructionEdit",
    "Loss",
    "Material",
    "Moment",
    "PatternKind",
    "PatternMoment",
    "RepeatedPattern",
    "Rule",
    "SessionOutcome",
    "Suggestion",
    "SuggestionKind",
    "find",
    "find_events",
    "find_patterns",
    "kind_meanings",
    "suggest",
]

__getattr__ = fetcher(__name__, _HOME)
