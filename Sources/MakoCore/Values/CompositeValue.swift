import Foundation
import MakoRecords

/// A type whose values fill several columns, one for each part: a rectangle has `frame_x`, `frame_y`, `frame_width` and `frame_height`.
///
/// Conditions, orders and indexes may name a part by itself. Rectangles, points, sizes, ranges, ``Coordinate`` and ``RGBAColor`` conform. A type
/// of your own needs the list of its parts and an initialiser:
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
/// Where a property is optional, all its columns are NULL when it is nil. The first part tells the two apart, so it cannot be optional itself.
public protocol CompositeValue: Sendable {
    /// The parts in the order of their columns. A constant, not worked out at each call.
    static var valueParts: [ValuePart<Self>] { get }
    /// Makes the value again.
    ///
    /// - Throws: any error where the parts stand for no value; whoever reads the object is told which property it is.
    init(parts: ValueParts<Self>) throws(MakoError)
    /// Writes the parts to a row. There is one for all types that goes by ``valueParts``.
    func write(to writer: inout RowWriter, _ position: Int)
}

extension CompositeValue {
    /// Writes the parts of ``valueParts`` to their fields.
    public func write(to writer: inout RowWriter, _ position: Int) {
        for (number, part) in Self.valueParts.enumerated() {
            part.write(self, &writer, writer.position(ofPart: number, at: position))
        }
    }

    /// What the columns hold.
    var storedParts: [StoredValue] { Self.valueParts.map { $0.stored(self) } }
}

/// One part of a ``CompositeValue``: its name, and where it stands in the value.
public struct ValuePart<Root>: Sendable {
    private(set) var part: PropertyPart
    let stored: @Sendable (Root) -> StoredValue
    let write: @Sendable (Root, inout RowWriter, Int) -> Void

    /// - Parameters:
    ///   - name: what stands behind the property's name and an underscore in the column's.
    ///   - keyPath: the part itself, a number, a text, a date or another value that fills one column.
    public init<V: StorableValue>(_ name: String, _ keyPath: KeyPath<Root, V>) {
        // Key paths are immutable, but do not say so.
        nonisolated(unsafe) let path = keyPath
        part = PropertyPart(
            name: name, columnType: V.columnType, isOptional: V.isOptionalColumn, keyPath: keyPath,
            isDecimal: V.self == Decimal.self || V.self == Decimal?.self)
        stored = { $0[keyPath: path].stored }
        write = { value, writer, position in value[keyPath: path].write(to: &writer, position) }
    }

    /// The same part, which conditions may name by another key path, too.
    func alias(_ keyPath: PartialKeyPath<Root>) -> ValuePart {
        var copy = self
        copy.part.alias = keyPath
        return copy
    }
}

/// What is known of a part without its type.
public struct PropertyPart: @unchecked Sendable {
    // Unchecked: key paths are immutable, but `AnyKeyPath` does not say so.

    public let name: String
    public let columnType: ColumnType
    public let isOptional: Bool
    let keyPath: AnyKeyPath
    let isDecimal: Bool
    var alias: AnyKeyPath?
}

/// The parts of a value that is to be made; see ``CompositeValue/init(parts:)``. Valid inside that call only.
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

    /// A part by the key path that ``CompositeValue/valueParts`` gives for it.
    ///
    /// - Throws: `MakoError.typeMismatch` where it has no value of the type.
    public subscript<V: StorableValue>(_ keyPath: KeyPath<Root, V>) -> V {
        get throws(MakoError) {
            guard let number = Root.valueParts.firstIndex(where: { $0.part.keyPath == keyPath }) else {
                throw .typeMismatch(
                    entity: "\(Root.self)", property: keyPath.text, expected: "one of its parts", found: "another path")
            }
            return try value(number)
        }
    }

    /// A part by its place in ``CompositeValue/valueParts``, without a look at key paths.
    ///
    /// - Throws: `MakoError.typeMismatch` where it has no value of the type.
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
        // A field without a value reads as zero.
        if !V.isOptionalColumn && row.isNull(place) { return nil }
        return V.read(row, place)
    }

    private func content(_ number: Int) -> StoredValue {
        if let row { return row.value(row.position(ofPart: number, at: position)) }
        return values.indices.contains(number) ? values[number] : .null
    }
}

/// A type of Mako's own, whose values are read as they were written.
protocol StandardComposite: CompositeValue {
    /// Whether those of their parts are, too.
    static var isPlain: Bool { get }
}

extension StandardComposite {
    static var isPlain: Bool { true }
}

/// Values that fill several columns.
public enum CompositeCodec<Property: CompositeValue>: ValueSlotCodec {
    /// The column type of the first part.
    public static var columnType: ColumnType { parts.first?.columnType ?? .blob }
    /// The columns of the parts.
    public static var parts: [PropertyPart] { Property.valueParts.map(\.part) }

    // One column alone holds no such value.
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
            // A mismatch is of a part that has not its type; what else a value's own code throws says more.
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

    /// A type's own code may make of a value what it does not take back.
    public static func fault(storing value: Property) -> String? {
        let stored = value.storedParts
        do throws(MakoError) { _ = try Property(parts: ValueParts(stored)) } catch {
            if case .invalidArgument(let reason) = error { return reason }
            return "(\(stored.map(\.brief).joined(separator: ", "))), which is stored for it, is no \(Property.self)"
        }
        return nil
    }

    /// Writes NULL to the fields of all parts.
    public static func writeNull(_ writer: inout RowWriter, _ position: Int) {
        writer.setNullParts(position)
    }
}
