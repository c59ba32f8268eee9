((call_expression function: (identifier) @_test arguments: (argument_list) @test.name) @test
  (#match? @_test "^(TEST|TEST_F|TEST_P|TYPED_TEST|START_TEST|Test|ParameterizedTest)$"))
((function_definition declarator: (function_declarator declarator: (identifier) @test.name)) @test (#match? @test.name "^test_"))
((call_expression function: (identifier) @_skip) @skip (#match? @_skip "^(GTEST_SKIP|SKIP|TEST_IGNORE|TEST_IGNORE_MESSAGE|skip)$"))
((call_expression function: (identifier) @_called) @assertion
  (#match? @_called "^(ASSERT|EXPECT|CHECK|REQUIRE|SUCCEED|FAIL|TEST_ASSERT|assert|static_assert|ck_assert|cr_assert|cr_expect|CU_ASSERT)"))
[(string_content) (number_literal)] @literal
(comment) @comment
