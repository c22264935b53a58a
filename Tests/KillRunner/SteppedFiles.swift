import Foundation
import MakoStorage
import MakoTestSupport

/// The system's files. Before each call that changes one, the process announces the call to its parent and waits for
/// permission.
///
/// It prints one call a line on standard output; a line on standard input permits it.
final class SteppedFiles: PassingFileSystem {
    let inner: any FileSystem = POSIXFileSystem()

    static func step(_ operation: String, _ path: String) {
        printLine("call \(operation) \(FilePath.name(of: path))")
        guard readLine() != nil else { exit(0) }
    }

    static func printLine(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    func open(_ path: String, _ mode: OpenMode) throws(FileError) -> any MakoStorage.File {
        SteppedFiles.step("open", path)
        return SteppedFile(inner: try inner.open(path, mode))
    }

    func open(_ path: String, _ mode: OpenMode, access: FileAccess?) throws(FileError) -> any MakoStorage.File {
        SteppedFiles.step("open", path)
        return SteppedFile(inner: try inner.open(path, mode, access: access))
    }

    func remove(_ path: String) throws(FileError) {
        SteppedFiles.step("remove", path)
        try inner.remove(path)
    }

    func rename(_ from: String, to: String) throws(FileError) {
        SteppedFiles.step("rename", from)
        try inner.rename(from, to: to)
    }

    func renameExclusively(_ from: String, to: String) throws(FileError) {
        SteppedFiles.step("rename", from)
        try inner.renameExclusively(from, to: to)
    }

    func list(directory: String) throws(FileError) -> [String] {
        SteppedFiles.step("list", directory)
        return try inner.list(directory: directory)
    }

    func syncDirectory(_ path: String) throws(FileError) {
        SteppedFiles.step("sync", path)
        try inner.syncDirectory(path)
    }
}

private final class SteppedFile: PassingFile {
    let inner: any MakoStorage.File

    init(inner: any MakoStorage.File) { self.inner = inner }

    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        SteppedFiles.step("sync", path)
        try inner.writeDurably(buffer, at: offset)
    }

    func resize(to size: UInt64) throws(FileError) {
        SteppedFiles.step("resize", path)
        try inner.resize(to: size)
    }

    func sync() throws(FileError) {
        SteppedFiles.step("sync", path)
        try inner.sync()
    }

    func lock(exclusive: Bool) throws(FileError) -> Bool {
        SteppedFiles.step("lock", path)
        return try inner.lock(exclusive: exclusive)
    }
}
