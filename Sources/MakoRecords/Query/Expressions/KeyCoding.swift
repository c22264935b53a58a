/// Codes values that are equal in a statement as equal bytes.
enum KeyCoding {
    /// Whether an expression may give whole numbers for one row and broken ones for the next.
    static func isMixed(_ expr: BoundExpr) -> Bool {
        if case .column = expr { return false }
        return Binder.kind(expr).isNumber
    }

    /// How an expression's values are coded.
    enum Form: UInt8 {
        case plain
        /// What is worked out may be whole in one row and broken in the next.
        case mixed
        /// Text without regard to case.
        case folded
    }

    static func form(_ expr: BoundExpr, noCase: Bool) -> Form { noCase ? .folded : isMixed(expr) ? .mixed : .plain }

    static func append(_ operand: Operand, _ form: Form, to buffer: inout KeyBuffer) {
        if form == .mixed, let number = operand.asDouble { return append(operand, number, to: &buffer) }
        buffer.append(operand, noCase: form == .folded)
    }

    /// A number so that the order of bytes is that of numbers, whole or not: as a double, and then as what doubles do not tell apart.
    static func append(_ operand: Operand, _ number: Double, to buffer: inout KeyBuffer) {
        buffer.append(number)
        let whole = operand.asWhole ?? Int128(exactly: number) ?? 0
        if let unsigned = UInt64(exactly: whole) {
            buffer.append(unsigned)
        } else {
            buffer.append(Int64(exactly: whole) ?? 0)
        }
    }
}

extension KeyCoding {
    /// Equal numbers have equal bytes, whole or not; values of other types never have those of each other.
    static func append(_ value: Value, noCase: Bool = false, to buffer: inout KeyBuffer) {
        switch value {
        case .null: buffer.appendNull()
        case .integer(let number): append(.integer(number), .mixed, to: &buffer)
        case .unsigned(let number): append(.unsigned(number), .mixed, to: &buffer)
        case .double(let number): append(.double(number), .mixed, to: &buffer)
        default:
            // Behind all numbers, whose first byte this is, too.
            buffer.append(UInt64.max)
            buffer.append(Int64(kind(value)))
            buffer.append(value, noCase: noCase)
        }
    }

    private static func kind(_ value: Value) -> Int {
        switch value {
        case .bool: 1
        case .date: 2
        case .text: 3
        case .blob: 4
        default: 5
        }
    }
}
