/// The objects a query found, in its order. A value; nothing is read later but relationships.
@frozen
public struct Results<T: Entity>: RandomAccessCollection, Sendable {
    @usableFromInline let objects: [T]

    @inlinable
    init(_ objects: [T]) { self.objects = objects }

    @inlinable public var startIndex: Int { 0 }
    @inlinable public var endIndex: Int { objects.count }
    @inlinable public subscript(position: Int) -> T { objects[position] }
    @inlinable public func makeIterator() -> IndexingIterator<[T]> { objects.makeIterator() }
    /// The same objects as an array.
    @inlinable public var array: [T] { objects }
}

extension Results: CustomStringConvertible {
    public var description: String { objects.description }
}

extension Results where T: ObjectEntity {
    /// Removes all of them in one transaction and answers how many were stored.
    @discardableResult
    public func removeAll() throws(MakoError) -> Int {
        guard let first else { return 0 }
        return try Database.resolve(number: first.lockedState { $0.database }, for: T.entityModel).delete(objects)
    }
}
