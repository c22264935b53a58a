import Foundation
import MakoRecords

/// A type whose values fill several columns, one for each part: a rectangle has `frame_x`, `frame_y`, `frame_width` and
/// `frame_height`.
///
/// Conditions, orders and indexes may name a single part. Rectangles, points, sizes, ranges, ``Coordinate`` and
/// ``RGBAColor`` conform. Another type needs the list of its parts and an initializer:
///
/// ```swift
/// struct Money: CompositeValue {
///     var amount: Double
///     var currency: String
///
///     static let valueParts = [ValuePart("amount", \Money.amount), ValuePart("currency", \Money.currency)]
///     init(parts: ValueParts<Money>) throws(MakoError) {
///         amount = try parts[\.amount]
///         currency = try parts[\.currency]
///     }
/// }
///
/// // @Entity final class Invoice { var total = Money(…) }
/// try db.query(Invoice.self).where(\.total.currency == "NOK").where("total_amount > 100")
/// ```
///
/// All columns of an optional property are NULL when it is nil. The first part distinguishes the two, so it cannot be
/// optional itself.
public protocol CompositeValue: Sendable {
    /// The parts in the order of their columns. A constant, because it is read often.
    static var valueParts: [ValuePart<Self>] { get }
    /// Creates the value from its parts.
    ///
    /// - Throws: any error if the parts form no value; the error of the read names the property.
    init(parts: ValueParts<Self>) throws(MakoError)
    /// Writes the parts to a row. The default implementation uses ``valueParts``.
    func write(to writer: inout RowWriter, _ position: Int)
}

extension CompositeValue {
    /// Writes the parts of ``valueParts`` to their fields.
    public func write(to writer: inout RowWriter, _ position: Int) {
        for (number, part) in Self.valueParts.enumerated() {
            part.write(self, &writer, writer.position(ofPart: number, at: position))
        }
    }

    /// The contents of the columns.
    var storedParts: [StoredValue] { Self.valueParts.map { $0.stored(self) } }
}

/// One part of a ``CompositeValue``: its name and its key path.
public struct ValuePart<Root>: Sendable {
    private(set) var part: EntityCoding.PropertyPart
    let stored: @Sendable (Root) -> StoredValue
    let write: @Sendable (Root, inout RowWriter, Int) -> Void

    /// Creates a part.
    ///
    /// - Parameters:
    ///   - name: the suffix of the column's name, after the property's name and an underscore.
    ///   - keyPath: the part, which is a number, a text, a date or another value that fills one column.
    public init<V: StorableValue>(_ name: String, _ keyPath: KeyPath<Root, V>) {
        // Key paths are immutable, but not `Sendable`.
        nonisolated(unsafe) let path = keyPath
        part = EntityCoding.PropertyPart(
            name: name, columnType: V.columnType, isOptional: V.isOptionalColumn, keyPath: keyPath,
            isDecimal: V.self == Decimal.self || V.self == Decimal?.self)
        stored = { $0[keyPath: path].stored }
        write = { value, writer, position in value[keyPath: path].write(to: &writer, position) }
    }

    /// The part with a second key path for conditions.
    func alias(_ keyPath: PartialKeyPath<Root>) -> ValuePart {
        var copy = self
        copy.part.alias = keyPath
        return copy
    }
}

extension EntityCoding {
    /// A part without its type.
    public struct PropertyPart: @unchecked Sendable {
        // Unchecked: key paths are immutable, but `AnyKeyPath` is not `Sendable`.

        /// The name of the part.
        public let name: String
        /// The type of the part's column.
        public let columnType: ColumnType
        /// Whether the part's column may be NULL.
        public let isOptional: Bool
        let keyPath: AnyKeyPath
        let isDecimal: Bool
        var alias: AnyKeyPath?
    }
}

/// The parts from which a value is created; see ``CompositeValue/init(parts:)``. Valid inside that call only.
public struct ValueParts<Root: CompositeValue> {
    private let row: RowReader?
    private let position: Int
    private let values: [StoredValue]

    init(_ row: RowReader, _ position: Int) {
        self.row = row
        self.position = position
        values = []
    }

    init(_ values: [StoredValue]) {
        row = nil
        position = 0
        self.values = values
    }

    /// The part for a key path of ``CompositeValue/valueParts``.
    ///
    /// - Throws: `MakoError.typeMismatch` if it has no value of the type.
    public subscript<V: StorableValue>(_ keyPath: KeyPath<Root, V>) -> V {
        get throws(MakoError) {
            guard let number = Root.valueParts.firstIndex(where: { $0.part.keyPath == keyPath }) else {
                throw .typeMismatch(
                    entity: "\(Root.self)", property: keyPath.text, expected: "one of its parts", found: "another path")
            }
            return try value(number)
        }
    }

    /// Returns the part at a position of ``CompositeValue/valueParts``, without comparing key paths.
    ///
    /// - Throws: `MakoError.typeMismatch` if it has no value of the type.
    public func value<V: StorableValue>(_ number: Int, as type: V.Type = V.self) throws(MakoError) -> V {
        if let value: V = found(number) { return value }
        let parts = Root.valueParts
        throw .typeMismatch(
            entity: "\(Root.self)", property: parts.indices.contains(number) ? parts[number].part.name : "\(number)",
            expected: "\(V.self)", found: content(number).description)
    }

    private func found<V: StorableValue>(_ number: Int) -> V? {
        guard let row else { return V(stored: content(number)) }
        let place = row.position(ofPart: number, at: position)
        // A NULL field of a non-optional type reads as zero.
        if !V.isOptionalColumn && row.isNull(place) { return nil }
        return V.read(row, place)
    }

    private func content(_ number: Int) -> StoredValue {
        if let row { return row.value(row.position(ofPart: number, at: position)) }
        return values.indices.contains(number) ? values[number] : .null
    }
}

/// A composite type of Mako's own, whose conversions are inverse to each other.
protocol StandardComposite: CompositeValue {
    /// Whether the conversions of the parts are, too.
    static var isPlain: Bool { get }
}

extension StandardComposite {
    static var isPlain: Bool { true }
}

extension EntityCoding {
    /// The codec of values that fill several columns.
    public enum CompositeCodec<Property: CompositeValue>: ValueSlotCodec {
        /// The column type of the first part.
        public static var columnType: ColumnType { parts.first?.columnType ?? .blob }
        /// The columns of the parts.
        public static var parts: [PropertyPart] { Property.valueParts.map(\.part) }

        /// NULL: a single column holds no composite value.
        public static func stored(_ value: Property) -> StoredValue { .null }
        /// Nil: a single column holds no composite value.
        public static func value(_ stored: StoredValue) -> Property? { nil }

        /// Returns the contents of the columns of the parts.
        public static func storedParts(_ value: Property) -> [StoredValue] { value.storedParts }

        /// Returns the value of its parts; nil if they form none.
        public static func joined(_ parts: [StoredValue]) -> Property? {
            do throws(MakoError) { return try Property(parts: ValueParts(parts)) } catch { return nil }
        }

        /// Reads the property from the fields of its parts.
        public static func read(_ row: EntityRow, _ position: Int) throws(MakoError) -> Property {
            do throws(MakoError) { return try Property(parts: ValueParts(row.reader, position)) } catch {
                // A mismatch is that of a part's type; another error of a value's own code is more specific.
                if case .invalidArgument(let reason) = error {
                    throw EntityCoding.unreadable(row, position, reason)
                }
                let layout = row.reader.layout
                let values = parts.indices.map { row.reader.value(layout.position(ofPart: $0, at: position)).brief }
                throw EntityCoding.unreadable(
                    row, position, "(\(values.joined(separator: ", "))) is no \(Property.self)")
            }
        }

        /// Writes the parts to their fields.
        public static func write(_ value: Property, _ writer: inout RowWriter, _ position: Int) throws(MakoError) {
            writer.writeLater { writer in
                if (Property.self as? any StandardComposite.Type)?.isPlain != true, let reason = fault(storing: value) {
                    throw EntityCoding.unstorable(writer, position, reason)
                }
                value.write(to: &writer, position)
            }
        }

        /// Returns the reason why the value could not be read again, because its type's conversions are not inverse; nil if
        /// it can be stored.
        public static func fault(storing value: Property) -> String? {
            let stored = value.storedParts
            do throws(MakoError) { _ = try Property(parts: ValueParts(stored)) } catch {
                if case .invalidArgument(let reason) = error { return reason }
                return
                    "(\(stored.map(\.brief).joined(separator: ", "))), which is stored for it, is no \(Property.self)"
            }
            return nil
        }

        /// Writes NULL to the fields of all parts.
        public static func writeNull(_ writer: inout RowWriter, _ position: Int) {
            writer.setNullParts(position)
        }
    }
}
