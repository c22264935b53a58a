import Foundation
import MakoRecords
import Synchronization

extension EntityCoding {
    /// A number, date or Bool of an object: read without a lock, written under the object's lock.
    @frozen
    public struct ScalarField<Value: ScalarValue>: ~Copyable, Sendable {
        @usableFromInline let bits: Atomic<UInt64>

        /// Creates a field with a value.
        @inlinable @inline(__always)
        public init(_ value: Value) { bits = Atomic(value.scalarBits) }

        /// Creates a field of zero or false, for an initialiser to set.
        @inlinable @inline(__always)
        public init() { bits = Atomic(0) }

        /// The value. Reads and writes are atomic and unordered.
        @inlinable @inline(__always)
        public var value: Value {
            get { Value(scalarBits: bits.load(ordering: .relaxed)) }
            nonmutating set { bits.store(newValue.scalarBits, ordering: .relaxed) }
        }
    }
}

/// A value that fits one machine word.
public protocol ScalarValue: StorableValue {
    /// Creates the value from its word.
    init(scalarBits: UInt64)
    /// The value as a word.
    var scalarBits: UInt64 { get }
}

extension ScalarValue where Self: FixedWidthInteger {
    /// Truncates the word to the integer's width.
    @inlinable @inline(__always)
    public init(scalarBits: UInt64) { self.init(truncatingIfNeeded: scalarBits) }
    /// The integer, sign-extended or zero-extended.
    @inlinable @inline(__always)
    public var scalarBits: UInt64 { UInt64(truncatingIfNeeded: self) }
}

extension Int: ScalarValue {}
extension Int8: ScalarValue {}
extension Int16: ScalarValue {}
extension Int32: ScalarValue {}
extension Int64: ScalarValue {}
extension UInt: ScalarValue {}
extension UInt8: ScalarValue {}
extension UInt16: ScalarValue {}
extension UInt32: ScalarValue {}
extension UInt64: ScalarValue {}

extension Bool: ScalarValue {
    /// True for every word but 0.
    @inlinable @inline(__always)
    public init(scalarBits: UInt64) { self = scalarBits != 0 }
    /// 1 or 0.
    @inlinable @inline(__always)
    public var scalarBits: UInt64 { self ? 1 : 0 }
}

extension Double: ScalarValue {
    /// Creates the value from its bit pattern.
    @inlinable @inline(__always)
    public init(scalarBits: UInt64) { self.init(bitPattern: scalarBits) }
    /// The bit pattern.
    @inlinable @inline(__always)
    public var scalarBits: UInt64 { bitPattern }
}

extension Float: ScalarValue {
    /// Creates the value from the bit pattern in the low 32 bits.
    @inlinable @inline(__always)
    public init(scalarBits: UInt64) { self.init(bitPattern: UInt32(truncatingIfNeeded: scalarBits)) }
    /// The bit pattern in the low 32 bits.
    @inlinable @inline(__always)
    public var scalarBits: UInt64 { UInt64(bitPattern) }
}

extension Date: ScalarValue {
    /// Creates the date from the bit pattern of its seconds since the reference date.
    @inlinable @inline(__always)
    public init(scalarBits: UInt64) { self.init(timeIntervalSinceReferenceDate: Double(bitPattern: scalarBits)) }
    /// The bit pattern of the seconds since the reference date.
    @inlinable @inline(__always)
    public var scalarBits: UInt64 { timeIntervalSinceReferenceDate.bitPattern }
}
