#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

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
                throw FileError(operation: "write", path: path, code: code)
            }
        }
    }
}
