/// Encodes values for hashing, so that values which are equal in SQL have equal bytes.
enum KeyCoding {
    /// Returns whether an expression may be an integer in one row and a double in the next.
    static func isMixed(_ expr: BoundExpr) -> Bool {
        if case .column = expr { return false }
        return Binder.kind(expr).isNumber
    }

    /// The encoding of an expression's values.
    enum Form: UInt8 {
        case plain
        /// Computed numbers, integers in one row and doubles in the next.
        case mixed
        /// Text, compared without case.
        case folded
    }

    static func form(_ expr: BoundExpr, noCase: Bool) -> Form { noCase ? .folded : isMixed(expr) ? .mixed : .plain }

    static func append(_ operand: Operand, _ form: Form, to buffer: inout KeyBuffer) {
        if form == .mixed, let number = operand.asDouble { return append(operand, number, to: &buffer) }
        buffer.append(operand, noCase: form == .folded)
    }

    /// Appends a number so that the order of bytes is that of numbers: as a double, then as an exact integer, because
    /// doubles do not distinguish all integers.
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
    /// Appends a value: equal numbers have equal bytes, whether integers or doubles; values of different types never
    /// do.
    static func append(_ value: Value, noCase: Bool = false, to buffer: inout KeyBuffer) {
        switch value {
        case .null: buffer.appendNull()
        case .integer(let number): append(.integer(number), .mixed, to: &buffer)
        case .unsigned(let number): append(.unsigned(number), .mixed, to: &buffer)
        case .double(let number): append(.double(number), .mixed, to: &buffer)
        default:
            // Sorts after all numbers, which start with this byte, too.
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
