import Foundation
import MakoRecords

/// `Codable` values, arrays, sets and dictionaries of values are stored as JSON text.
public enum JSONCodec<Property: Codable & Sendable>: ValueSlotCodec {
    public static var columnType: ColumnType { .text }
    public static var isJSON: Bool { true }

    public static func stored(_ value: Property) -> StoredValue {
        (try? text(of: value)).map { .text($0) } ?? .null
    }

    public static func value(_ stored: StoredValue) -> Property? {
        guard case .text(let text) = stored else { return nil }
        return try? JSONText.decoder().decode(Property.self, from: Data(text.utf8))
    }

    public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
        if let value = value(row.reader.value(position)) { return value }
        throw EntityCoding.mismatch(row, position, Property.self)
    }

    public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
        writer.writeLater { writer in
            do {
                writer.set(position, try text(of: value))
            } catch {
                throw MakoError.typeMismatch(
                    entity: "\(Property.self)", property: "\(position)", expected: "a value that encodes as JSON",
                    found: "\(error)")
            }
        }
    }

    static func text(of value: Property) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

/// How values stand in columns as JSON.
enum JSONText {
    static func decoder() -> JSONDecoder {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        return decoder
    }
}
