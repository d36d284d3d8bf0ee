"""What went wrong in sessions, what repeats, and what to change.

    findings = find(session)                         # events, material, outcome: rows to keep on ingest
    patterns = find_patterns(materials, events)      # over many sessions, from their rows alone
    suggestions = suggest(patterns, events)

Names are fetched when first used: reading stored events needs none of the detectors.
"""

from reread.lazy import fetch_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .detection import Cause, Detector, FrictionKind, Loss, Moment
    from .detectors import DETECTORS, Findings, find, find_events, kind_meanings
    from .material import AskedPrompt, CountedPhrase, Material, Rule
    from .patterns import PatternKind, PatternMoment, RepeatedPattern, find_patterns
    from .refusals import InstructionEdit, SessionOutcome
    from .suggestions import Suggestion, SuggestionKind, suggest
    from .tool_errors import ErrorClass

fetch_names(__name__)
