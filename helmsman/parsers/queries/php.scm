((method_declaration name: (name) @test.name) @test (#match? @test.name "^test"))
((method_declaration attributes: (attribute_list (attribute_group (attribute (name) @_test))) name: (name) @test.name) @test
  (#eq? @_test "Test"))
((function_call_expression function: (name) @_test arguments: (arguments . (argument [(string) (encapsed_string)] @test.name))) @test
  (#match? @_test "^(it|test)$"))
(class_declaration name: (name) @suite.name) @suite
((member_call_expression name: (name) @_skip) @skip (#match? @_skip "^(markTestSkipped|markTestIncomplete|skip|todo)$"))
((member_call_expression name: (name) @_called) @assertion (#match? @_called "^(assert|expect|should|toBe|toEqual)"))
((scoped_call_expression name: (name) @_called) @assertion (#match? @_called "^(assert|expect)"))
((function_call_expression function: (name) @_called) @assertion (#match? @_called "^(expect|assert)"))
((member_call_expression name: (name) @_called arguments: (arguments . (argument (boolean)))) @idle
  (#match? @_called "^assert(True|False)$"))
((member_call_expression name: (name) @_called arguments: (arguments) @double.of) @double
  (#match? @_called "^(createMock|createStub|getMockBuilder|createPartialMock|prophesize)$"))
[(string_content) (integer) (float)] @literal
(comment) @comment
