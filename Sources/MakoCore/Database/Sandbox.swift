import Foundation
import MakoStorage

/// What opening a database does to its file.
public enum DatabaseMode: Sendable, Hashable {
    /// Changes are made to the file.
    case normal
    /// Changes are made to a copy, which goes when the database is closed: a migration, an import or anything else can be tried, and the
    /// file is only read.
    ///
    /// ```swift
    /// let trial = try Database(at: "people.mako", mode: .sandbox, entities: [Person.self])
    /// print(trial.migrations)
    /// ```
    case sandbox
}

/// The copy of a database that a sandbox works on, in a directory of its own.
final class Sandbox: Sendable {
    private let directory: URL
    let path: String
    private let generation = Forks.generation

    /// Copies the latest commit; a file that is not there has none.
    init(copying original: String, _ options: DatabaseOptions) throws(MakoError) {
        // Named after the file, so that a directory that was left over tells what it was for.
        let name = URL(fileURLWithPath: original).deletingPathExtension().lastPathComponent
        let owner = name.utf8.count <= 100 ? name : "database"
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "mako-sandbox-\(owner)-\(UUID().uuidString)")
        path = directory.appendingPathComponent("sandbox.mako").path
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        } catch {
            throw .unsupported("a sandbox in \(directory.path) (\(error))")
        }
        guard FileManager.default.fileExists(atPath: original) else { return }
        do throws(MakoError) {
            var reading = options.storeOptions
            reading.readOnly = true
            let target = path
            try storage { () throws(StorageError) in
                let store = try Store(at: original, options: reading)
                _ = try store.backup(to: target)
                try store.close()
            }
        } catch {
            remove()
            throw error
        }
    }

    deinit { remove() }

    /// Nothing is left of it. What cannot be removed lies in the system's directory for such things.
    func remove() {
        // The child of a fork has a copy of this, and the parent goes on.
        if generation == Forks.generation { try? FileManager.default.removeItem(at: directory) }
    }
}
