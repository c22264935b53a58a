import Foundation

/// A path in a directory of its own, which the system clears away.
func temporaryPath(_ name: String) throws -> String {
    let directory = NSTemporaryDirectory() + "mako-command-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    return directory + "/" + name
}
