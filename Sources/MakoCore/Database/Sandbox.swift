import Foundation
import MakoStorage

/// Whether a database changes its file.
public enum DatabaseMode: Sendable, Hashable {
    /// Changes are written to the file.
    case normal
    /// Changes are written to a copy, which is deleted when the database closes. The file is only read. For trying a
    /// migration or an import.
    ///
    /// ```swift
    /// let trial = try Database(at: "people.mako", mode: .sandbox, entities: [Person.self])
    /// print(trial.migrations)
    /// ```
    case sandbox
}

/// The copy of a database for a sandbox, in its own directory.
final class Sandbox: Sendable {
    private let directory: URL
    let path: String
    private let generation = Forks.generation

    /// Copies the latest commit, if the file exists and is not empty.
    init(copying original: String, _ options: DatabaseOptions) throws(MakoError) {
        // Named after the file, so that a leftover directory can be identified.
        let name = URL(fileURLWithPath: original).deletingPathExtension().lastPathComponent
        let owner = name.utf8.count <= 100 ? name : "database"
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "mako-sandbox-\(owner)-\(UUID().uuidString)")
        path = directory.appendingPathComponent("sandbox.mako").path
        do {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        } catch {
            throw .invalidArgument(
                "the sandbox \(directory.path) cannot be created (\(error)); set TMPDIR to a writable directory")
        }
        if Sandbox.isMissingOrEmpty(original) { return }
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

    /// Whether there is no database to copy. An empty file becomes a new database when it is opened.
    private static func isMissingOrEmpty(_ path: String) -> Bool {
        if !FileManager.default.fileExists(atPath: path) { return true }
        // The attributes of a symbolic link are its own.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let attributes = try? FileManager.default.attributesOfItem(atPath: target)
        return (attributes?[.size] as? NSNumber)?.intValue == 0
    }

    deinit { remove() }

    /// Removes the copy. A failure leaves it in the system's temporary directory.
    func remove() {
        // In the child of a fork this is a copy; the parent still uses the directory.
        if generation == Forks.generation { try? FileManager.default.removeItem(at: directory) }
    }
}
