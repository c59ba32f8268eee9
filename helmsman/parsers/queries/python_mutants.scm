(comparison_operator operators: _ @operator)
(boolean_operator operator: _ @operator)
(binary_operator operator: _ @operator)
(return_statement (_) @result)
[(true) (false) (integer) (float) (string)] @constant
