import MakoStorage

/// Reads rows from JSON: one array of objects, or one object per line.
///
/// The columns are the keys, in the order of their first occurrence. Nested arrays and objects stay JSON text.
struct JSONReader: InputReader {
    enum Layout: Equatable {
        /// One array with all rows; a single object is one row.
        case array
        /// JSON Lines: one object per line.
        case lines
    }

    private(set) var columns: [String] = []
    var consumed: Int { scanner.input.consumed }

    private enum Place { case start, inside, end }

    private var scanner: JSONScanner
    private let layout: Layout
    private var place = Place.start
    private var indexes: [TextKey: Int] = [:]
    private var line = 0

    init(_ input: ByteInput, layout: Layout) throws(InputError) {
        var input = input
        try input.skipByteOrderMark()
        scanner = JSONScanner(input, keepsDigits: true)
        self.layout = layout
    }

    mutating func next() throws(InputError) -> InputRow? {
        switch layout {
        case .array: try nextElement()
        case .lines: try nextLine()
        }
    }

    private mutating func nextElement() throws(InputError) -> InputRow? {
        switch place {
        case .start:
            switch try scanner.peekToken() {
            case nil: throw scanner.error("is empty: an array of objects is needed")
            case UInt8(ascii: "["): _ = try scanner.input.next()
            case UInt8(ascii: "{"):
                let row = try readObject()
                try expectEnd("after a single object; if each line holds an object, the format is jsonl")
                return row
            default: throw scanner.error("an array of objects is needed")
            }
            place = .inside
            if try scanner.peekToken() == UInt8(ascii: "]") { return try close() }
            return try readObject()
        case .inside:
            if try scanner.peekToken() == UInt8(ascii: "]") { return try close() }
            try scanner.expect(UInt8(ascii: ","), "or ']' after an object")
            return try readObject()
        case .end:
            return nil
        }
    }

    private mutating func close() throws(InputError) -> InputRow? {
        _ = try scanner.input.next()
        try expectEnd("after the array")
        return nil
    }

    private mutating func expectEnd(_ place: String) throws(InputError) {
        guard try scanner.peekToken() == nil else { throw scanner.error("more input \(place)") }
        self.place = .end
    }

    private mutating func readObject() throws(InputError) -> InputRow {
        _ = try scanner.peekToken()
        let start = scanner.line
        let value = try scanner.value()
        return try row(of: value, line: start, orElse: "each row must be an object {…}")
    }

    private mutating func nextLine() throws(InputError) -> InputRow? {
        while try scanner.input.peek() != nil {
            line += 1
            var bytes: [UInt8] = []
            try scanner.input.append(to: &bytes, until: ByteSet(.lineFeed))
            _ = try scanner.input.next()
            guard bytes.contains(where: { $0 > 32 }) else { continue }
            var one = JSONScanner(
                ByteInput(bytes: bytes, name: scanner.input.name), line: line, keepsDigits: true)
            let value = try one.value()
            guard try one.peekToken() == nil else { throw one.error("more than one value on the line") }
            return try row(of: value, line: line, orElse: "each line must hold one object {…}")
        }
        return nil
    }

    private mutating func row(
        of value: JSONValue, line: Int, orElse message: String
    ) throws(InputError) -> InputRow {
        guard case .object(let members) = value else {
            throw InputError(source: scanner.input.name, line: line, message: message)
        }
        var fields = [InputField](repeating: .missing, count: columns.count)
        var isSet = [Bool](repeating: false, count: columns.count)
        for (key, value) in members {
            let index: Int
            if let known = indexes[TextKey(key)] {
                index = known
            } else {
                index = columns.count
                indexes[TextKey(key)] = index
                columns.append(key)
                fields.append(.missing)
                isSet.append(false)
            }
            if isSet[index] {
                throw InputError(
                    source: scanner.input.name, line: line, message: "the object has the key \"\(key)\" more than once")
            }
            isSet[index] = true
            fields[index] = InputField(value)
        }
        return InputRow(line: line, fields: fields)
    }
}

extension InputField {
    init(_ value: JSONValue) {
        self =
            switch value {
            case .null: .missing
            case .bool(let value): .bool(value)
            case .integer(let value): .integer(value)
            case .unsigned(let value): .unsigned(value)
            case .double(let value): .double(value)
            case .number(let text): Self.field(ofNumber: text)
            case .string(let text): .string(text)
            case .array, .object: .json(value.text)
            }
    }

    /// A number that no type represents stays text.
    private static func field(ofNumber text: String) -> InputField {
        switch NumberText(text) {
        case .integer(let value): .integer(value)
        case .unsigned(let value): .unsigned(value)
        case .double(let value) where NumberText.isExact(text, value): .double(value)
        default: .json(text)
        }
    }
}
