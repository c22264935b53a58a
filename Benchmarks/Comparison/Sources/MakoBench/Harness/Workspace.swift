import Foundation

/// The directory of a run, in which every database gets an empty one of its own. It is a new one below the given directory,
/// so that the end of the run removes nothing else.
final class Workspace {
    let path: String
    private var count = 0

    init(in parent: String) throws {
        path = "\(parent)/mako-bench-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    func make(_ name: String) throws -> String {
        count += 1
        let directory = "\(path)/\(name.replacingOccurrences(of: " ", with: "-"))-\(count)"
        try remove(directory)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        return directory
    }

    func removeAll() throws {
        try remove(path)
    }

    func remove(_ directory: String) throws {
        if FileManager.default.fileExists(atPath: directory) { try FileManager.default.removeItem(atPath: directory) }
    }
}
