import Dispatch
import Foundation
import MakoRecords

// The async forms of opening, and of work on files that are not open.

extension Database {
    private static let fileQueue = DispatchQueue(label: "mako.files", attributes: .concurrent)

    /// Runs work that belongs to no open database.
    private static func onFileThread<R: Sendable>(
        _ body: @escaping @Sendable () throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        let result: Result<R, MakoError> = await withCheckedContinuation { continuation in
            fileQueue.async {
                do throws(MakoError) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    /// Runs an async form that scripts/async-twins makes.
    static func away<R: Sendable>(
        _ body: @escaping @Sendable (Database.Type) throws(MakoError) -> R
    ) async throws(MakoError) -> R {
        try await onFileThread { () throws(MakoError) in try body(Database.self) }
    }

    /// The async form of ``init(at:mode:entities:options:)-(String,_,_,_)``: recovery and migration run outside Swift's
    /// thread pool.
    ///
    /// ```swift
    /// let db = try await Database.open(at: "people.mako", entities: [Person.self])
    /// ```
    public static func open(
        at path: String, mode: DatabaseMode = .normal, entities: [any Entity.Type] = [],
        options: DatabaseOptions = DatabaseOptions()
    ) async throws(MakoError) -> Database {
        try await onFileThread { () throws(MakoError) in
            try Database(at: path, mode: mode, entities: entities, options: options)
        }
    }

    /// The async form of ``init(at:mode:entities:options:)-(URL,_,_,_)``.
    public static func open(
        at url: URL, mode: DatabaseMode = .normal, entities: [any Entity.Type] = [],
        options: DatabaseOptions = DatabaseOptions()
    ) async throws(MakoError) -> Database {
        try await onFileThread { () throws(MakoError) in
            try Database(at: url, mode: mode, entities: entities, options: options)
        }
    }

    /// The async form of ``init(named:mode:entities:options:)``.
    public static func open(
        named name: String, mode: DatabaseMode = .normal, entities: [any Entity.Type] = [],
        options: DatabaseOptions = DatabaseOptions()
    ) async throws(MakoError) -> Database {
        try await onFileThread { () throws(MakoError) in
            try Database(named: name, mode: mode, entities: entities, options: options)
        }
    }
}
