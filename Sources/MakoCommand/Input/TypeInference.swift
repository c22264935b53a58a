import MakoRecords

/// The inferred type of an input column.
struct InferredColumn: Equatable {
    /// The name in the input.
    var name: String
    var type: ColumnType
    /// Whether a row has no value.
    var isOptional: Bool
}

/// Infers the type of each column from all its fields.
///
/// A column gets a type only if every field fits it without loss: numbers with leading zeros stay text, and so do
/// integers that a double cannot represent exactly, beside fractions, and fractions with more digits than a double has.
/// Only the form may change: `1.10` becomes 1.1, and a date with an offset from UTC the same instant in UTC.
struct TypeInference {
    private(set) var rows = 0
    private var columns: [Column] = []

    /// Adds the fields of one row.
    mutating func add(_ row: InputRow) {
        while columns.count < row.fields.count {
            columns.append(Column(isMissedBefore: rows > 0))
        }
        for index in columns.indices { columns[index].add(row[index]) }
        rows += 1
    }

    /// The inferred columns, with the names that the reader has at the end.
    func result(names: [String]) -> [InferredColumn] {
        names.indices.map { index in
            let column = index < columns.count ? columns[index] : Column(isMissedBefore: true)
            return InferredColumn(name: names[index], type: column.type, isOptional: column.isOptional)
        }
    }

    private struct Column {
        private var hasMissing: Bool
        private var hasEmpty = false
        private var hasValues = false
        private var fits: Fits = .everything
        private var hasNegative = false
        private var hasLarge = false
        private var hasNumbers = false

        init(isMissedBefore: Bool) { hasMissing = isMissedBefore }

        var isOptional: Bool { hasMissing || (hasEmpty && type != .text) }

        var type: ColumnType {
            guard hasValues else { return .text }
            if fits.contains(.integer) { return .integer }
            if fits.contains(.unsigned), !hasNegative { return .unsigned }
            // NaN and Infinity count as numbers only beside numbers; alone they are words.
            if fits.contains(.double), !hasLarge, hasNumbers { return .double }
            if fits.contains(.bool) { return .bool }
            if fits.contains(.date) { return .date }
            return .text
        }

        mutating func add(_ field: InputField) {
            switch field {
            case .missing: hasMissing = true
            case .raw(let text):
                if text.isEmpty { hasEmpty = true } else { take(raw: text) }
            case .string(let text):
                if DoubleText.special(text) != nil { return take(.double) }
                take(fits.contains(.date) && DateText.parse(text) != nil ? .date : [])
            case .bool: take(.bool)
            case .integer(let value): take(number: .integer(value))
            case .unsigned(let value): take(number: .unsigned(value))
            case .double(let value): take(number: .double(value))
            case .json: take([])
            }
        }

        private mutating func take(_ types: Fits) {
            hasValues = true
            fits.formIntersection(types)
        }

        private mutating func take(raw text: String) {
            hasValues = true
            if fits.isEmpty { return }
            if !fits.isDisjoint(with: [.integer, .unsigned, .double]), let number = NumberText(text) {
                if case .double(let value) = number, !NumberText.isExact(text, value) { return take([]) }
                take(number: number)
            } else if fits.contains(.double), DoubleText.special(text) != nil {
                take(.double)
            } else if fits.contains(.bool), FieldConversion.bool(text) != nil {
                take(.bool)
            } else if fits.contains(.date), DateText.parse(text) != nil {
                take(.date)
            } else {
                fits = []
            }
        }

        private mutating func take(number: NumberText) {
            hasNumbers = true
            switch number {
            case .integer(let value):
                hasNegative = hasNegative || value < 0
                hasLarge = hasLarge || value.magnitude > 1 << 53
                take([.integer, .unsigned, .double])
            case .unsigned:
                hasLarge = true
                take([.unsigned, .double])
            case .double: take(.double)
            }
        }
    }

    private struct Fits: OptionSet {
        let rawValue: UInt8
        static let integer = Fits(rawValue: 1)
        static let unsigned = Fits(rawValue: 2)
        static let double = Fits(rawValue: 4)
        static let bool = Fits(rawValue: 8)
        static let date = Fits(rawValue: 16)
        static let everything: Fits = [.integer, .unsigned, .double, .bool, .date]
    }
}
