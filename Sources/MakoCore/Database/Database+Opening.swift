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

    /// The async form of `migrationPlan(at:entities:)`.
    public static func migrationPlan(
        at path: String, entities: [any Entity.Type], options: DatabaseOptions = DatabaseOptions()
    ) async throws(MakoError) -> MigrationPlan {
        try await onFileThread { () throws(MakoError) in
            try migrationPlan(at: path, entities: entities, options: options)
        }
    }

    /// The async form of `migrationPlan(entities:)`.
    public func migrationPlan(entities: [any Entity.Type]) async throws(MakoError) -> MigrationPlan {
        try await onOwnThread(writes: false) { () throws(MakoError) in try self.migrationPlan(entities: entities) }
    }

    /// The async form of `compact(at:)`.
    @discardableResult
    public static func compact(
        at path: String, options: DatabaseOptions = DatabaseOptions(),
        progress: @escaping @Sendable (CopyProgress) -> Void = { _ in }
    ) async throws(MakoError) -> CopyReport {
        try await onFileThread { () throws(MakoError) in
            try compact(at: path, options: options, progress: progress)
        }
    }

    /// The async form of `salvage(from:to:)`.
    @discardableResult
    public static func salvage(
        from damaged: String, to path: String, options: DatabaseOptions = DatabaseOptions(),
        progress: @escaping @Sendable (SalvageProgress) -> Void = { _ in }
    ) async throws(MakoError) -> SalvageReport {
        try await onFileThread { () throws(MakoError) in
            try salvage(from: damaged, to: path, options: options, progress: progress)
        }
    }
}
