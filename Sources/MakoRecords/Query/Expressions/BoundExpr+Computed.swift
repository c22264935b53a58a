extension BoundExpr {
    /// Returns its value, if it has no columns. The binder folds such expressions to constants.
    func computed() throws(RecordError) -> Value {
        let program = Program(nil)
        let place = program.add(self)
        let evaluator = Evaluator(program, nil)
        let layout = RowLayout.blank()
        var writer = RowWriter()
        writer.begin(layout)
        let row = try RowReader(writer.finish(), layout)
        let value = try evaluator.operand(place, row, .rowID(0)).value
        withExtendedLifetime(layout) {}
        return value
    }
}
