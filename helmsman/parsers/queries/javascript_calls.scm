; Imports: a name of a module, or the module itself.
(import_statement (import_clause (named_imports (import_specifier name: (identifier) @name !alias)))
  source: (string (string_fragment) @module))
(import_statement (import_clause (named_imports (import_specifier name: (identifier) @name alias: (identifier) @local)))
  source: (string (string_fragment) @module))
(import_statement (import_clause [(identifier) @local (namespace_import (identifier) @local)])
  source: (string (string_fragment) @module))
((variable_declarator name: (identifier) @local
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string (string_fragment) @module))))
  (#eq? @_require "require"))
((variable_declarator name: (object_pattern (shorthand_property_identifier_pattern) @name)
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string (string_fragment) @module))))
  (#eq? @_require "require"))
((variable_declarator name: (object_pattern (pair_pattern key: (property_identifier) @name value: (identifier) @local))
  value: (call_expression function: (identifier) @_require arguments: (arguments . (string (string_fragment) @module))))
  (#eq? @_require "require"))
((variable_declarator name: (identifier) @local
  value: (member_expression
    object: (call_expression function: (identifier) @_require arguments: (arguments . (string (string_fragment) @module)))
    property: (property_identifier) @name))
  (#eq? @_require "require"))

(call_expression
  function: [(identifier) (member_expression object: [(identifier) (new_expression) (call_expression) (parenthesized_expression)]
    property: (property_identifier))]) @call
(arguments (member_expression object: [(identifier) (new_expression) (call_expression) (parenthesized_expression)]) @call)

(function_declaration name: (identifier) @defined)
(class_declaration name: (_) @defined)
(variable_declarator name: (identifier) @defined)
(assignment_expression left: (member_expression property: (property_identifier) @defined))
(method_definition name: (property_identifier) @defined)

[(string_fragment) (number)] @literal

; Comparisons: on either side, or after `expect(…)`, with up to two words between.
((call_expression function: (_) @_equal arguments: [
   (arguments . (_) @compared . (_) @expected) (arguments . (_) @expected . (_) @compared)])
  (#match? @_equal "^((assert|expect|equal|strictEqual|deepEqual|deepStrictEqual|t)[.](.*[.])?)?(equals?|strictEqual|deepEqual|deepStrictEqual|is|same|toBe|toEqual|toStrictEqual)$"))
((call_expression
   function: (member_expression
     object: [
       (call_expression function: (identifier) @_expect arguments: (arguments . (_) @compared))
       (member_expression
         object: (call_expression function: (identifier) @_expect arguments: (arguments . (_) @compared))
         property: (property_identifier) @_word)
       (member_expression
         object: (member_expression
           object: (call_expression function: (identifier) @_expect arguments: (arguments . (_) @compared))
           property: (property_identifier) @_word)
         property: (property_identifier) @_word)]
     property: (property_identifier) @_equal)
   arguments: (arguments . (_) @expected))
  (#eq? @_expect "expect") (#not-match? @_word "^(not|resolves|rejects)$")
  (#match? @_equal "^(equals?|strictEqual|deepEqual|deepStrictEqual|is|same|toBe|toEqual|toStrictEqual)$"))
((call_expression
   function: (member_expression
     object: (call_expression function: (identifier) @_expect arguments: (arguments . (_) @compared))
     property: (property_identifier) @expected))
  (#eq? @_expect "expect") (#match? @expected "^toBe(Null|Undefined|NaN)$"))
