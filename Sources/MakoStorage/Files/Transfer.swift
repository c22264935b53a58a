import CPlatform

/// Complete reads and writes: a system call may transfer only some of the bytes, and a signal may interrupt it.
package enum Transfer {
    /// Reads until all bytes were read or the file ends. Returns the number of bytes read.
    ///
    /// - Parameter call: continues the read after a number of bytes; returns the number of bytes read, or -1 and the
    ///   `errno`.
    @inline(__always)
    package static func read(
        _ count: Int, _ path: String, _ call: (_ done: Int) throws(FileError) -> (moved: Int, code: Int32)
    ) throws(FileError) -> Int {
        var done = 0
        while done < count {
            let (moved, code) = try call(done)
            if moved > 0 {
                done += moved
            } else if moved == 0 {
                break
            } else if code != EINTR {
                throw FileError(operation: "read", path: path, code: code)
            }
        }
        return done
    }

    /// Writes until all bytes were written.
    @inline(__always)
    package static func write(
        _ count: Int, _ path: String, _ call: (_ done: Int) throws(FileError) -> (moved: Int, code: Int32)
    ) throws(FileError) {
        var done = 0
        while done < count {
            let (moved, code) = try call(done)
            if moved > 0 {
                done += moved
            } else if moved == 0 {
                // Fail here, because a device that writes nothing without an error would cause an endless loop.
                throw FileError(operation: "write", path: path, code: EIO)
            } else if code != EINTR {
                throw FileError(
                    operation: code == EPERM && done > 0 ? FileError.restOfWrite : "write", path: path, code: code)
            }
        }
    }

    /// Syncs a file with the first of several calls that its file system supports. Repeats a call that a signal has
    /// interrupted; the interruption has only ended the wait, and errors of the device are reported by the next call.
    @inline(__always)
    package static func sync(
        _ path: String, operation: String = "sync", _ call: () -> Int32, else others: [() -> Int32] = []
    ) throws(FileError) {
        if uninterrupted(call) >= 0 { return }
        var code = mako_errno()
        for other in others {
            guard code == ENOTSUP || code == EINVAL || code == ENOTTY else {
                break
            }
            if uninterrupted(other) >= 0 { return }
            code = mako_errno()
        }
        throw FileError(operation: operation, path: path, code: code)
    }
}

/// Calls the system, and repeats the call if a signal interrupted it. Every file operation that waits for a device must
/// go through here or through `Transfer`, except `close`, because the descriptor is closed even after an interruption.
@inline(__always)
func uninterrupted<Count: SignedInteger>(_ call: () -> Count) -> Count {
    while true {
        let result = call()
        if result >= 0 || mako_errno() != EINTR { return result }
    }
}

/// Calls the system as `uninterrupted(_:)`, and throws a failure with its operation and path.
@inline(__always)
func posix(_ operation: String, _ path: String, _ call: () -> Int32) throws(FileError) -> Int32 {
    let result = uninterrupted(call)
    if result < 0 { throw FileError(operation: operation, path: path, code: mako_errno()) }
    return result
}
