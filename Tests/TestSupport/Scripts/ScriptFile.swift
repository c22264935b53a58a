import MakoStorage

/// A workload in a file of its own.
package struct ScriptFile: Sendable {
    /// The file's name without its ending, with spaces for dashes.
    package var name: String
    /// The script.
    package var text: String

    /// The files that end in `.test` in a folder, by name.
    package static func all(in folder: String) throws -> [ScriptFile] {
        let system = POSIXFileSystem()
        return try system.list(directory: folder).filter { $0.hasSuffix(".test") }.map { name in
            let file = try system.open(folder + "/" + name, .readOnly)
            defer { file.close() }
            var bytes = [UInt8](repeating: 0, count: Int(try file.size()))
            let count = try bytes.withUnsafeMutableBytes { buffer throws(FileError) in
                try file.read(into: buffer, at: 0)
            }
            let title = String(name.dropLast(5).map { $0 == "-" ? " " : $0 })
            return ScriptFile(name: title, text: String(decoding: bytes.prefix(count), as: UTF8.self))
        }
    }
}
