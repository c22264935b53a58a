import Foundation
import Mako

let people: [any Entity.Type] = [Person.self, Department.self, Location.self]

/// A database in memory with the tests' entities.
func makeDatabase(_ entities: [any Entity.Type] = people) throws -> Database {
    try Database.inMemory(entities: entities)
}

/// A path for a database file that is removed, with its log, after the body.
func withTemporaryFile<R>(_ body: (String) throws -> R) throws -> R {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("mako-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try body(directory.appendingPathComponent("test.mako").path)
}

func withTemporaryFile<R>(_ body: (String) async throws -> R) async throws -> R {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("mako-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory.appendingPathComponent("test.mako").path)
}

/// Values that handlers on any thread collect.
final class Collected<T: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var values: [T] = []

    func append(_ value: T) {
        lock.lock()
        defer { lock.unlock() }
        values.append(value)
    }

    var all: [T] {
        lock.lock()
        defer { lock.unlock() }
        return values
    }
}

/// A closure on a thread of its own.
final class ThreadRun: @unchecked Sendable {
    private let done = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () -> Void) {
        let done = done
        Thread.detachNewThread {
            body()
            done.signal()
        }
    }

    func wait() { done.wait() }
}

/// An error of a test's own.
struct Refused: Error, Equatable {}
