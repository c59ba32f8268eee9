((function_definition declarator: (function_declarator declarator: (identifier) @_test parameters: (_) @test.name)) @test
  (#match? @_test "^(TEST|TEST_F|TEST_P|TYPED_TEST)$"))
((call_expression function: (identifier) @_test arguments: (argument_list) @test.name) @test
  (#match? @_test "^(TEST_CASE|SCENARIO|TEMPLATE_TEST_CASE|TEST_CASE_METHOD|BOOST_AUTO_TEST_CASE)$"))
((function_definition declarator: (function_declarator declarator: (identifier) @test.name)) @test (#match? @test.name "^test_"))
((call_expression function: (identifier) @_skip) @skip (#match? @_skip "^(GTEST_SKIP|SKIP)$"))
((call_expression function: (identifier) @_called) @assertion
  (#match? @_called "^(ASSERT|EXPECT|CHECK|REQUIRE|FAIL|BOOST_CHECK|BOOST_REQUIRE|BOOST_TEST|assert)"))
(static_assert_declaration) @assertion
[(string_content) (number_literal)] @literal
(comment) @comment
