"""What the assertions of the common test libraries compare, by name."""

import re

from helmsman.verify.cases.model import Kind

_NAMES = {
    Kind.EQUAL: """equal equals is_equal_to eq eql be_eq eqv be assert_eq assert_equal assert_equals assert_list_equal
        assert_dict_equal assert_set_equal assert_tuple_equal assert_sequence_equal assert_multi_line_equal assert_count_equal
        assert_array_equal assert_frame_equal assert_series_equal assert_same assert_array_equals assert_content_equals
        to_be to_equal to_strict_equal to_have_length to_have_value to_have_text_content to_match_object same strict_equal
        deep_equal deep_strict_equal must_equal should_be should_equal should_eq is_same_as has_size contains_exactly
        length_of have_length assert_struct_equal j_s_o_n_eq to_match_inline_snapshot to_match_snapshot exactly len
        to_be_called_times to_have_been_called_times to_have_been_called_with to_be_called_with assert_count
        assert_called_with assert_called_once_with assert_has_calls assert_any_call equal_values contain_exactly match_array
        elements_match assert_not_called deep_equals deeply_equal""",
    Kind.NOT_EQUAL: """assert_not_equal assert_not_equals assert_ne not_equal not_strict_equal not_deep_equal refute_equal
        is_not_equal_to assert_is_not assert_not_same wont_equal""",
    Kind.IDENTITY: """assert_is assert_is_none assert_null to_be_null to_be_undefined to_be_na_n be_nil assert_nil is_null nil
        must_be_nil null undefined no_error error_is assert_no_error is_none""",
    Kind.CONTAINS: """assert_in assert_contains contains to_contain to_contain_equal include includes assert_includes contain
        to_have_property has_property property assert_string_contains_string assert_array_has_key assert_dict_contains_subset
        assert_not_in not_contains to_contain_text subset key keys must_include has_member""",
    Kind.MATCHES: "assert_regex assert_regexp_matches assert_matches to_match match matches regexp must_match assert_match",
    Kind.ORDER: """assert_greater assert_greater_equal assert_less assert_less_equal to_be_greater_than to_be_less_than
        to_be_greater_than_or_equal to_be_less_than_or_equal greater less above below at_least at_most is_greater_than
        is_less_than greater_or_equal less_or_equal is_positive is_negative assert_array_less be_gt be_lt""",
    Kind.APPROX: """assert_almost_equal assert_almost_equals assert_allclose assert_array_almost_equal to_be_close_to close_to
        in_delta in_epsilon assert_in_delta assert_in_epsilon be_within is_close_to assert_equals_with_delta be_close_to""",
    Kind.TYPE: """assert_is_instance to_be_instance_of instance_of is_instance_of be_a be_an be_kind_of be_an_instance_of
        assert_instance_of is_type a an assert_kind_of be_instance_of
        respond_to assert_respond_to must_respond_to""",
    Kind.RUNS: "not_raise assert_does_not_throw assert_nothing_raised not_panics does_not_throw assert_does_not_raise",
    Kind.PRESENT: """assert_is_not_none assert_not_null to_be_defined exist exists not_nil assert_not_nil is_not_null refute_nil
        is_some not_null defined ok_or is_defined to_exist to_be_in_the_document be_present assert_isset is_present""",
    Kind.TRUTHY: """assert_true assert_ assert ok to_be_truthy true be_true be_truthy is_true assert_called called
        to_have_been_called to_be_called assert_called_once debug_assert must_be is_ok""",
    Kind.FALSY: """assert_false to_be_falsy false be_false be_falsy be_falsey is_false refute empty is_empty be_empty
        assert_empty to_be_empty assert_not assert_no_logs""",
    Kind.RAISES: """assert_raises assert_raises_regex assert_raises_message assert_throws to_throw to_throw_error throws throw
        raise_error assert_raise assert_fails_with rejects should_panic expect_exception panics error_as raises warns
        assert_warns deprecated_call assert_throws_exactly""",
}
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def snake(name: str) -> str:
    """`toStrictEqual` and `to_strict_equal` are one name."""
    return _WORD_START.sub("_", name).replace("!", "").strip("?").lower()


KINDS = {snake(name): kind for kind, names in _NAMES.items() for name in names.split()}

OPPOSITES = {
    Kind.EQUAL: Kind.NOT_EQUAL,
    Kind.NOT_EQUAL: Kind.EQUAL,
    Kind.TRUTHY: Kind.FALSY,
    Kind.FALSY: Kind.TRUTHY,
    Kind.IDENTITY: Kind.PRESENT,
    Kind.PRESENT: Kind.IDENTITY,
    Kind.APPROX: Kind.NOT_EQUAL,
}
"""What `not` makes of an assertion; the rest keep their kind, with `not` before what they expect."""

BROAD_ERRORS = frozenset(["Exception", "BaseException", "Throwable", "StandardError", "Error", "RuntimeException", "object"])
"""Raised by anything that goes wrong, so that expecting them expects nothing in particular."""

HELPER = re.compile(r"_*(?:assert|check|verify|expect|ensure|validate|must|should)(?:_\w+|[A-Z]\w*)")
"""A function that is called like one that asserts is taken for one, unless its source is at hand."""


def inverted(kind: Kind) -> Kind:
    return OPPOSITES.get(kind, kind)


def negated(expected: str) -> str:
    return expected.removeprefix("not ") if expected.startswith("not ") else f"not {expected}"


def compact(text: str) -> str:
    """Source text as it is compared: without white space, with one kind of quotes."""
    return "".join(text.split()).replace("'", '"').replace(",)", ")").replace(",]", "]")
