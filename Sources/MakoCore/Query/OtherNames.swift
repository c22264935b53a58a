import Foundation
import MakoRecords

// Names that other libraries have for what Mako calls otherwise. None of them can be called: the compiler says which name is meant, and most
// editors replace it. Their bodies are those of the right call.

extension Database {
    @available(*, unavailable, renamed: "init(at:)")
    public convenience init(_ path: String) throws(MakoError) { try self.init(at: path) }

    @available(*, unavailable, renamed: "init(at:)")
    public convenience init(path: String) throws(MakoError) { try self.init(at: path) }

    @available(*, unavailable, renamed: "init(at:)")
    public convenience init(url: URL) throws(MakoError) { try self.init(at: url) }

    @available(*, unavailable, message: "write 'try Database.inMemory()'")
    public convenience init(inMemory: Bool) throws(MakoError) { try self.init(at: "") }

    @available(*, unavailable, renamed: "transaction(_:)")
    public func write<R>(_ body: (Transaction) throws -> R) throws -> R { try transaction(body) }

    @available(
        *, unavailable,
        message: "a transaction's closure is synchronous, since it holds the writer lock; await before or after it"
    )
    public func transaction<R>(_ body: (Transaction) async throws -> R) async throws -> R {
        throw MakoError.transactionEnded
    }

    @available(*, unavailable, message: "write 'query(T.self).fetch()'")
    public func fetch<T: Entity>(_ type: T.Type) throws(MakoError) -> Results<T> { try query(type).fetch() }

    @available(
        *, unavailable,
        message: "'save(_:)' stores new and changed objects; 'update(T.self)' changes rows by a condition"
    )
    public func update<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool { try save(object) }

    @available(*, unavailable, renamed: "delete(_:)")
    public func remove<T: ObjectEntity>(_ object: T) throws(MakoError) -> Bool { try delete(object) }

    @available(*, unavailable, renamed: "find(_:_:)")
    public func find<T: Entity>(_ type: T.Type, id: Int) throws(MakoError) -> T? { try find(type, id) }

    @available(*, unavailable, renamed: "rawQuery(_:)")
    public func execute(_ text: WhereText) throws(MakoError) -> RawResults { try rawQuery(text) }

    @available(*, unavailable, renamed: "rawQuery(_:)")
    public func execute(sql text: WhereText) throws(MakoError) -> RawResults { try rawQuery(text) }

    @available(
        *, unavailable,
        message: "a statement that is known only at run time is 'rawQuery(text:)'; pass values as parameters"
    )
    @_disfavoredOverload
    public func rawQuery(_ text: String) throws(MakoError) -> RawResults { try rawQuery(text: text) }
}

extension Query {
    @available(*, unavailable, renamed: "fetch()")
    public func all() throws(MakoError) -> Results<T> { try fetch() }

    @available(*, unavailable, renamed: "fetch()")
    public func fetchAll() throws(MakoError) -> Results<T> { try fetch() }

    @available(*, unavailable, renamed: "first()")
    public func fetchOne() throws(MakoError) -> T? { try first() }

    @available(*, unavailable, message: "write 'where(…).first()'")
    public func first(where condition: Condition<T>) throws(MakoError) -> T? { try self.where(condition).first() }

    @available(*, unavailable, renamed: "where(_:)")
    public func filter(_ condition: Condition<T>) -> Query { self.where(condition) }

    @available(*, unavailable, renamed: "where(_:)")
    public func filter(_ flag: KeyPath<Row<T>, Column<Bool>>) -> Query { self.where(flag) }

    @available(*, unavailable, renamed: "where(_:)")
    public func filter(_ condition: (Columns<T>) -> Condition<T>) -> Query { self.where(condition) }

    @available(*, unavailable, message: "join conditions with &&, or call 'where' again")
    public func `where`(_ first: Condition<T>, _ more: Condition<T>...) -> Query { self.where(first) }

    @available(
        *, unavailable,
        message: "a condition that is known only at run time is 'where(text:)'; pass values as parameters"
    )
    @_disfavoredOverload
    public func `where`(_ text: String) -> Query { self.where(text: text) }

    @available(*, unavailable, renamed: "orderBy(_:)")
    public func order<V>(by keyPath: KeyPath<Row<T>, Column<V>>) -> Query { orderBy(keyPath) }

    @available(*, unavailable, renamed: "orderBy(_:)")
    public func sort<V>(by keyPath: KeyPath<Row<T>, Column<V>>) -> Query { orderBy(keyPath) }

    @available(*, unavailable, renamed: "orderBy(_:)")
    public func sorted<V>(by keyPath: KeyPath<Row<T>, Column<V>>) -> Query { orderBy(keyPath) }

    @available(*, unavailable, message: "write 'orderBy(keyPath, .descending)'")
    public func orderBy<V>(_ keyPath: KeyPath<Row<T>, Column<V>>, ascending: Bool) -> Query {
        orderBy(keyPath, ascending ? .ascending : .descending)
    }

    @available(*, unavailable, message: "write 'distinct(keyPath)' for a column's values, or 'fetch().map { … }'")
    public func select<V>(_ keyPath: KeyPath<Row<T>, Column<V>>) -> Query { self }

    @available(
        *, unavailable,
        message: "write 'observe(on: .main) { outcome in … }' or 'for try await difference in query.observe()'"
    )
    public func observe(_ handler: @escaping ([T]) -> Void) -> LiveToken { observe(on: .main) { _ in } }
}

@available(*, unavailable, message: "a query is run by 'fetch()' or 'forEach { … }': 'for object in try query.fetch()'")
extension Query: Sequence {
    public func makeIterator() -> IndexingIterator<[T]> { [].makeIterator() }
}

@available(*, unavailable, message: "members are read by 'load()': 'for member in try owner.members.load()'")
extension ToMany: Sequence {
    public func makeIterator() -> IndexingIterator<[Target]> { [].makeIterator() }
}

extension SortDirection {
    @available(*, unavailable, renamed: "ascending")
    public static var asc: SortDirection { .ascending }

    @available(*, unavailable, renamed: "descending")
    public static var desc: SortDirection { .descending }
}

extension Entity {
    @available(*, unavailable, renamed: "commit()")
    public func save() throws(MakoError) {}

    @available(*, unavailable, message: "write 'db.save(object)'; 'commit()' saves into the default database")
    public func save(_ database: Database) throws(MakoError) {}

    @available(*, unavailable, renamed: "remove()")
    public func delete() throws(MakoError) {}

    @available(*, unavailable, message: "write 'db.delete(object)'")
    public func delete(_ database: Database) throws(MakoError) {}

    @available(*, unavailable, message: "write 'db.find(T.self, id)'")
    public static func find(_ database: Database, id: Int) throws(MakoError) -> Self? {
        try database.find(Self.self, id)
    }
}

extension PreparedStatement {
    @available(
        *, unavailable,
        message: "a value is of a type that no column holds; let an enumeration conform to 'StorableValue'"
    )
    @_disfavoredOverload @discardableResult
    public func run<each V>(_ parameters: repeat each V) throws(MakoError) -> RawResults {
        throw MakoError.invalidArgument("a value of a type that no column holds")
    }
}

extension PartialKeyPath where Root: Entity {
    @available(*, unavailable, message: "beside it write the other properties as '.ascending(\\.name)'")
    public static func descending(_ keyPath: PartialKeyPath<Root>) -> PartialKeyPath<Root> { keyPath }

    @available(*, unavailable, message: "beside it write the other properties as '.ascending(\\.name)'")
    public static func ignoringCase(_ keyPath: PartialKeyPath<Root>) -> PartialKeyPath<Root> { keyPath }
}
