import CPlatform
import Foundation
import MakoStorage

/// An open file of a simulated disk.
final class SimulatedFile: MakoStorage.File, @unchecked Sendable {
    let path: String
    private let disk: SimulatedDisk
    private let file: Int
    private let generation: Int
    private let isReadOnly: Bool
    private let lock = Lock()
    // Guarded by `lock`. Whether the held lock is exclusive; nil: none.
    private var held: Bool?
    private var isClosed = false
    /// Of how many failures to make its content durable this handle knows.
    private var notified: Int

    init(disk: SimulatedDisk, path: String, file: Int, generation: Int, isReadOnly: Bool, notified: Int) {
        self.notified = notified
        self.disk = disk
        self.path = path
        self.file = file
        self.generation = generation
        self.isReadOnly = isReadOnly
    }

    deinit { close() }

    func size() throws(FileError) -> UInt64 {
        try checkOpen("size")
        return try disk.size(file, path)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        try checkOpen("read")
        return try Transfer.read(buffer.count, path) { done throws(FileError) in
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            return try SimulatedFile.interruptible { () throws(FileError) in
                try disk.read(file, path, into: rest, at: offset + UInt64(done))
            }
        }
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try checkOpen("write", changes: true)
        // An empty write is a call, too.
        if buffer.isEmpty {
            _ = try disk.write(file, path, buffer, at: offset)
            return
        }
        try Transfer.write(buffer.count, path) { done throws(FileError) in
            let rest = UnsafeRawBufferPointer(rebasing: buffer[done...])
            return try SimulatedFile.interruptible { () throws(FileError) in
                try disk.write(file, path, rest, at: offset + UInt64(done))
            }
        }
    }

    /// Two calls, between which the power may go; the second makes durable what the first wrote and nothing else.
    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        try write(buffer, at: offset)
        try sync(only: offset..<offset + UInt64(buffer.count))
    }

    func resize(to size: UInt64) throws(FileError) {
        try checkOpen("resize", changes: true)
        try disk.resize(file, path, to: size)
    }

    func allocate(_ range: Range<UInt64>) throws(FileError) {
        try checkOpen("allocate", changes: true)
        if try disk.size(file, path) < range.upperBound { try disk.resize(file, path, to: range.upperBound) }
    }

    func sync() throws(FileError) {
        try checkOpen("sync")
        try sync(only: nil)
    }

    func barrier() throws(FileError) {
        try checkOpen("sync")
        try sync(only: nil, isBarrier: true)
    }

    private func sync(only range: Range<UInt64>?, isBarrier: Bool = false) throws(FileError) {
        var known = lock.withLock { notified }
        defer { lock.withLock { notified = max(notified, known) } }
        var failure: FileError?
        do throws(FileError) {
            try Transfer.sync(
                path,
                {
                    do throws(FileError) {
                        try disk.sync(file, path, only: range, isBarrier: isBarrier, notified: &known)
                        return 0
                    } catch {
                        failure = error
                        errno = error.code
                        return -1
                    }
                })
        } catch { throw failure ?? error }
    }

    func lock(exclusive: Bool) throws(FileError) -> Bool {
        try checkOpen("lock")
        return try lock.withLock { () throws(FileError) -> Bool in
            guard try disk.takeLock(file, path, exclusive: exclusive, held: held) else { return false }
            held = exclusive
            return true
        }
    }

    func unlock() throws(FileError) {
        try checkOpen("unlock")
        lock.withLock {
            disk.unpin(file, ObjectIdentifier(self), generation)
            if let held { disk.releaseLock(file, generation, exclusive: held) }
            held = nil
        }
    }

    func isNamed(_ path: String) throws(FileError) -> Bool {
        try checkOpen("open")
        return disk.isNamed(path, file)
    }

    func pin(_ number: UInt64) throws(FileError) -> Bool {
        try checkOpen("pin")
        try disk.pin(number, of: file, path, ObjectIdentifier(self))
        return true
    }

    func pins() throws(FileError) -> [UInt64] {
        try checkOpen("pins")
        return try disk.pins(of: file, path, besides: ObjectIdentifier(self))
    }

    func close() {
        lock.withLock {
            guard !isClosed else { return }
            isClosed = true
            disk.unpin(file, ObjectIdentifier(self), generation)
            if let held { disk.releaseLock(file, generation, exclusive: held) }
            held = nil
        }
    }

    /// Returns the number of bytes that a call moved, as a system call does.
    private static func interruptible(_ call: () throws(FileError) -> Int) throws(FileError) -> (Int, Int32) {
        do throws(FileError) { return (try call(), 0) } catch {
            if error.code == EINTR { return (-1, EINTR) }
            throw error
        }
    }

    private func checkOpen(_ operation: String, changes: Bool = false) throws(FileError) {
        guard lock.withLock({ !isClosed }), !(changes && isReadOnly), disk.isAlive(generation) else {
            throw FileError(operation: operation, path: path, code: EBADF)
        }
    }
}
