import MakoRecords
import Synchronization

/// The row an object was read from, as long as texts or blobs stand there only: they are decoded when they are asked for, which most of
/// the objects of a fetch never see. Reached under the object's lock.
@frozen
public struct LazyRow: Sendable {
    /// The properties that were not decoded yet, bit 0 being the first column.
    @usableFromInline var pending: UInt64
    @usableFromInline var offset: UInt32
    /// What the row stands in; nil when nothing is pending.
    @usableFromInline var rows: RowChunk?

    /// No row: the object is new.
    @inlinable @inline(__always)
    public init() {
        pending = 0
        offset = 0
    }

    @inlinable @inline(__always)
    public init(_ row: EntityRow) {
        pending = row.pending
        offset = row.offset
        rows = row.rows
    }

    /// Lends the row, so that those of the properties that stand there only are decoded and settled.
    ///
    /// - Parameter body: gets the properties to decode.
    @inlinable
    public mutating func decode(
        _ properties: UInt64, _ marks: borrowing LazyMarks, _ body: (UInt64, RowReader) -> Void
    ) {
        let wanted = pending & properties
        guard wanted != 0, let rows else { return }
        rows.withRow(at: offset) { body(wanted, $0) }
        pending &= ~wanted
        if pending == 0 { self.rows = nil }
        marks.settle(wanted)
    }

    /// Gives the row up: all properties get values from elsewhere.
    @inlinable
    public mutating func drop() {
        pending = 0
        rows = nil
    }
}

/// A text or blob of an object.
///
/// The first value, given by an initialiser or decoded from the row, is written before anybody may read it without the object's lock and
/// stays as long as the object: who finds the property settled reads it as it is, whatever others do meanwhile. A value that is assigned
/// stands beside it, under the lock.
@frozen
public struct LazyField<Value: LazyValue>: Sendable {
    /// The first value; to be read where ``LazyMarks/isSettled(_:)`` says so.
    public var settled: Value
    @usableFromInline var assigned: AssignedValue<Value>?

    @inlinable
    public init(_ value: Value) { settled = value }

    /// The value, for who holds the object's lock. Open the property's mark before an assignment.
    @inlinable
    public var current: Value {
        get {
            if let assigned { return assigned.value }
            return settled
        }
        set {
            if let assigned { assigned.value = newValue } else { assigned = AssignedValue(newValue) }
        }
    }
}

@usableFromInline
final class AssignedValue<Value: Sendable>: @unchecked Sendable {
    // Unchecked: reached under the lock of the object that has it.
    @exclusivity(unchecked) @usableFromInline var value: Value

    @inlinable
    init(_ value: Value) { self.value = value }
}

/// Which lazy properties of an object must be read under its lock: those that stand in the row only and those that were assigned.
@frozen
public struct LazyMarks: ~Copyable, Sendable {
    @usableFromInline let opened: Atomic<UInt64>

    @inlinable @inline(__always)
    public init() { opened = Atomic(0) }

    /// For an initialiser: what is pending in the row is open.
    @inlinable @inline(__always)
    public func begin(_ row: EntityRow) { opened.store(row.pending, ordering: .relaxed) }

    @inlinable @inline(__always)
    public func isSettled(_ property: UInt64) -> Bool { opened.load(ordering: .acquiring) & property == 0 }

    /// Before an assignment, under the object's lock.
    @inlinable
    public func open(_ properties: UInt64) { opened.bitwiseOr(properties, ordering: .relaxed) }

    /// After properties were decoded, under the object's lock.
    @inlinable
    func settle(_ properties: UInt64) { opened.bitwiseAnd(~properties, ordering: .releasing) }
}
