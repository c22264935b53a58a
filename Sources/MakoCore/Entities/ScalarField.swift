import Foundation
import MakoRecords
import Synchronization

/// A number, date or truth value of an object: read without a lock, written under the object's.
@frozen
public struct ScalarField<Value: ScalarValue>: ~Copyable, Sendable {
    @usableFromInline let bits: Atomic<UInt64>

    @inlinable @inline(__always)
    public init(_ value: Value) { bits = Atomic(value.scalarBits) }

    /// A field of zero or false, for an initialiser to set.
    @inlinable @inline(__always)
    public init() { bits = Atomic(0) }

    @inlinable @inline(__always)
    public var value: Value {
        get { Value(scalarBits: bits.load(ordering: .relaxed)) }
        nonmutating set { bits.store(newValue.scalarBits, ordering: .relaxed) }
    }
}

/// A value that fits one machine word.
public protocol ScalarValue: StorableValue {
    init(scalarBits: UInt64)
    var scalarBits: UInt64 { get }
}

extension ScalarValue where Self: FixedWidthInteger {
    @inlinable @inline(__always)
    public init(scalarBits: UInt64) { self.init(truncatingIfNeeded: scalarBits) }
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
    @inlinable @inline(__always)
    public init(scalarBits: UInt64) { self = scalarBits != 0 }
    @inlinable @inline(__always)
    public var scalarBits: UInt64 { self ? 1 : 0 }
}

extension Double: ScalarValue {
    @inlinable @inline(__always)
    public init(scalarBits: UInt64) { self.init(bitPattern: scalarBits) }
    @inlinable @inline(__always)
    public var scalarBits: UInt64 { bitPattern }
}

extension Float: ScalarValue {
    @inlinable @inline(__always)
    public init(scalarBits: UInt64) { self.init(bitPattern: UInt32(truncatingIfNeeded: scalarBits)) }
    @inlinable @inline(__always)
    public var scalarBits: UInt64 { UInt64(bitPattern) }
}

extension Date: ScalarValue {
    @inlinable @inline(__always)
    public init(scalarBits: UInt64) { self.init(timeIntervalSinceReferenceDate: Double(bitPattern: scalarBits)) }
    @inlinable @inline(__always)
    public var scalarBits: UInt64 { timeIntervalSinceReferenceDate.bitPattern }
}
