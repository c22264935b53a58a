/// The objects that a query found, in its order. A value: only relationships are read later.
@frozen
public struct Results<T: Entity>: RandomAccessCollection, Sendable {
    @usableFromInline let objects: [T]

    @inlinable
    init(_ objects: [T]) { self.objects = objects }

    /// The position of the first object: 0.
    @inlinable public var startIndex: Int { 0 }
    /// The position behind the last object.
    @inlinable public var endIndex: Int { objects.count }
    /// The object at a position.
    @inlinable public subscript(position: Int) -> T { objects[position] }
    @inlinable public func makeIterator() -> IndexingIterator<[T]> { objects.makeIterator() }
    /// The same objects as an array.
    @inlinable public var array: [T] { objects }
}

extension Results: CustomStringConvertible {
    public var description: String { objects.description }
}

extension Results: Equatable where T: Equatable {}

extension Results: Encodable where T: Encodable {
    /// Encodes the objects as an array.
    public func encode(to encoder: any Encoder) throws { try objects.encode(to: encoder) }
}

extension Results where T: ObjectEntity {
    // async: awaits
    /// Deletes all objects in one transaction and returns how many were stored.
    @discardableResult
    public func removeAll() throws(MakoError) -> Int {
        guard let first else { return 0 }
        return try Database.resolve(number: first.lockedState { $0.database }, for: T.entityModel).delete(objects)
    }
}
