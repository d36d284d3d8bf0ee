"""What went wrong in sessions, what repeats, and what to change.

    findings = find(session)                         # events, material, outcome: rows to keep on ingest
    patterns = find_patterns(materials, events)      # over many sessions, from their rows alone
    suggestions = suggest(patterns, events)

Names are fetched when first used: who only reads kept events needs none of the detectors.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .detector import Detector
    from .detectors import DETECTORS, Findings, find, find_events
    from .events import Cause, Event, Kind, Loss
    from .instructions import Changed
    from .material import Asked, Counted, Material, Rule
    from .outcome import Outcome
    from .patterns import Moment, Pattern, PatternKind, find_patterns
    from .suggestions import Suggestion, SuggestionKind, suggest
    from .tool_errors import ErrorClass

_HOME = {
    "Asked": ".material",
    "Cause": ".events",
    "Changed": ".instructions",
    "Counted": ".material",
    "DETECTORS": ".detectors",
    "Detector": ".detector",
    "ErrorClass": ".tool_errors",
    "Event": ".events",
    "Findings": ".detectors",
    "Kind": ".events",
    "Loss": ".events",
    "Material": ".material",
    "Moment": ".patterns",
    "Outcome": ".outcome",
    "Pattern": ".patterns",
    "PatternKind": ".patterns",
    "Rule": ".material",
    "Suggestion": ".suggestions",
    "SuggestionKind": ".suggestions",
    "find": ".detectors",
    "find_events": ".detectors",
    "find_patterns": ".patterns",
    "suggest": ".suggestions",
}

__all__ = [
    "DETECTORS",
    "Asked",
    "Cause",
    "Changed",
    "Counted",
    "Detector",
    "ErrorClass",
    "Event",
    "Findings",
    "Kind",
    "Loss",
    "Material",
    "Moment",
    "Outcome",
    "Pattern",
    "PatternKind",
    "Rule",
    "Suggestion",
    "SuggestionKind",
    "find",
    "find_events",
    "find_patterns",
    "suggest",
]

__getattr__ = fetcher(__name__, _HOME)
