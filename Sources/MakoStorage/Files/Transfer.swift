import CPlatform

/// Reads and writes as systems do them: a call may move only some of the bytes, and a signal may interrupt it.
package enum Transfer {
    /// Calls until all bytes were read, or the file ends; answers how many were.
    ///
    /// - Parameter call: reads on behind so many bytes; answers how many it moved, or -1 and the `errno`.
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

    /// Calls until all bytes were written.
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
                // A device that takes nothing and names no reason would keep this loop for ever.
                throw FileError(operation: "write", path: path, code: EIO)
            } else if code != EINTR {
                throw FileError(
                    operation: code == EPERM && done > 0 ? FileError.restOfWrite : "write", path: path, code: code)
            }
        }
    }

    /// Makes a file's content durable by the first of several calls that its file system knows, each made again when a signal
    /// interrupts it: such a call has only stopped to wait, and whatever the device could not keep goes to the next call.
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

/// Calls the system, again when a signal interrupted it. Every call of a file that waits for a device goes through here, or through
/// `Transfer`; `close` alone does not, since the descriptor is gone after an interruption.
@inline(__always)
func uninterrupted<Count: SignedInteger>(_ call: () -> Count) -> Count {
    while true {
        let result = call()
        if result >= 0 || mako_errno() != EINTR { return result }
    }
}

/// The same, and gives a failure its name and path.
@inline(__always)
func posix(_ operation: String, _ path: String, _ call: () -> Int32) throws(FileError) -> Int32 {
    let result = uninterrupted(call)
    if result < 0 { throw FileError(operation: operation, path: path, code: mako_errno()) }
    return result
}
