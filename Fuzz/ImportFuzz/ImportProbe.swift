@testable import MakoCommand

/// Hands the readers of files any bytes there are.
enum ImportProbe {
    /// Reads everything and infers the types of the columns; an error of the input ends it. What was read fits the types that were inferred,
    /// and is written as JSON lines that read as the same.
    ///
    /// - Parameter format: the remainder by four chooses CSV, tab-separated values, a JSON array or JSON lines.
    /// - Returns: what is wrong with Mako; nil for nothing.
    static func read(_ bytes: [UInt8], format: Int) -> String? {
        let input = ByteInput(bytes: bytes)
        do throws(InputError) {
            switch format & 3 {
            case 0: return try check(DelimitedReader(input, dialect: .csv, header: format & 4 == 0))
            case 1: return try check(DelimitedReader(input, dialect: .tabs, header: format & 4 == 0))
            case 2: return try check(JSONReader(input, layout: .array))
            default: return try check(JSONReader(input, layout: .lines))
            }
        } catch { return "\(error)".isEmpty ? "refused without a word" : nil }
    }

    private static func check<Reader: InputReader>(_ reader: consuming Reader) throws(InputError) -> String? {
        var reader = reader
        var types = TypeInference()
        var rows: [InputRow] = []
        while let row = try reader.next() {
            types.add(row)
            rows.append(row)
        }
        let names = reader.columns
        for (index, column) in types.result(names: names).enumerated() {
            for row in rows {
                guard let value = FieldConversion.value(row[index], as: column.type) else {
                    return "line \(row.line): \(row[index]) does not fit the type \(column.type) of its column"
                }
                if value.isNull && !column.isOptional {
                    return "line \(row.line): nothing in a column that needs a value"
                }
            }
        }
        return readAgain(rows, names)
    }

    private static func readAgain(_ rows: [InputRow], _ names: [String]) -> String? {
        guard Set(names).count == names.count else { return nil }
        var text = ""
        for row in rows {
            let members = names.indices.compactMap { index in
                json(row[index]).map { JSONText.quoted(names[index]) + ":" + $0 }
            }
            text += "{" + members.joined(separator: ",") + "}\n"
        }
        do throws(InputError) {
            var reader = try JSONReader(ByteInput(text), layout: .lines)
            for row in rows {
                guard let again = try reader.next() else { return "a row is lost: \(text)" }
                for (index, name) in names.enumerated() {
                    let found = reader.columns.firstIndex(of: name).map { again[$0] } ?? .missing
                    if !isSame(row[index], found) { return "\(row[index]) became \(found)" }
                }
            }
            return try reader.next() == nil ? nil : "one row became two: \(text)"
        } catch { return "what was written is refused: \(error) \(text)" }
    }

    private static func json(_ field: InputField) -> String? {
        switch field {
        case .missing: nil
        case .raw(let text), .string(let text): JSONText.quoted(text)
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        case .double(let number): JSONText.number(number)
        case .json(let text): text
        }
    }

    private static func isSame(_ field: InputField, _ again: InputField) -> Bool {
        if case .raw(let text) = field { return again == .string(text) }
        return field == again
    }
}
