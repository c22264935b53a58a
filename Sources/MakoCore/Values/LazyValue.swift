import Foundation
import MakoRecords

extension EntityCoding {
    /// A value that an object may leave in its row until the first access, because reading it cannot fail.
    public protocol LazyValue: StorableValue {
        /// Reads the field at a position.
        static func field(_ row: RowReader, _ position: Int) -> Self
    }
}

extension String: EntityCoding.LazyValue {
    /// Reads the field at a position.
    @inlinable
    public static func field(_ row: RowReader, _ position: Int) -> String { row.text(position) }
}

extension Data: EntityCoding.LazyValue {
    /// Reads the field at a position.
    public static func field(_ row: RowReader, _ position: Int) -> Data { row.withText(position) { Data($0) } }
}

extension Array: EntityCoding.LazyValue where Element == UInt8 {
    /// Reads the field at a position.
    @inlinable
    public static func field(_ row: RowReader, _ position: Int) -> [UInt8] { row.blob(position) }
}

extension Optional: EntityCoding.LazyValue where Wrapped: EntityCoding.LazyValue {
    /// Reads the field at a position.
    @inlinable
    public static func field(_ row: RowReader, _ position: Int) -> Wrapped? {
        row.isNull(position) ? nil : Wrapped.field(row, position)
    }
}

extension EntityCoding {
    /// Reads a property that was left in the row.
    @inlinable
    public static func field<T: LazyValue>(_ row: RowReader, _ position: Int) -> T { T.field(row, position) }
}
