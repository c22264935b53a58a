import CPlatform
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// An open file of the operating system.
///
/// Threads may share the handle. When it is closed, no other thread may be inside a call, because the system may reuse
/// the descriptor's number for the next file.
final class POSIXFile: File, @unchecked Sendable {
    let path: String
    // Guarded by the rule above; -1 after the close.
    private(set) var descriptor: Int32
    /// Whether there may be locks or pins.
    private let hasLocks = Atomic(false)
    /// The fork generation of the process that opened it; see `unlock()`.
    private let generation = Forks.generation
    /// The descriptor for durable writes that bypass the system's cache: `unknown` before the first, `unsupported` if
    /// there is none.
    private let direct = Atomic<Int32>(DirectAccess.unknown)
    private let attributes: FileAttributes

    private enum DirectAccess {
        static let unknown: Int32 = -2
        static let unsupported: Int32 = -1
        /// The alignment of memory, offset and length; a device that needs more returns an error.
        static let alignment = 4096
    }

    init(path: String, descriptor: Int32, attributes: FileAttributes = FileAttributes()) {
        self.path = path
        self.descriptor = descriptor
        self.attributes = attributes
    }

    deinit { close() }

    /// Throws for anything but a regular file: a directory can be opened for reading, a device or a pipe in any mode,
    /// and both would look like empty files.
    func requireFile() throws(FileError) {
        switch try information("open").st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw FileError(operation: "open", path: path, code: EISDIR)
        default: throw FileError(operation: "open", path: path, code: ENXIO)
        }
    }

    func size() throws(FileError) -> UInt64 {
        UInt64(try information("size").st_size)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(FileError) -> Int {
        guard let base = buffer.baseAddress else { return 0 }
        return try Transfer.read(buffer.count, path) { done throws(FileError) in
            let count = pread(descriptor, base + done, buffer.count - done, try position(offset, done, "read"))
            return (count, count < 0 ? errno : 0)
        }
    }

    func write(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        guard let base = buffer.baseAddress else { return }
        try Transfer.write(buffer.count, path) { done throws(FileError) in
            let count = pwrite(descriptor, base + done, buffer.count - done, try position(offset, done, "write"))
            return (count, count < 0 ? errno : 0)
        }
    }

    /// Writes whole aligned blocks with one call that returns when they are durable, without a copy in the system's
    /// cache. Writes everything else normally, followed by a sync.
    func writeDurably(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) {
        let direct = try writeDirectly(buffer, at: offset)
        if direct == .all { return }
        do throws(FileError) { try write(buffer, at: offset) } catch {
            throw direct == .part ? error.ofRest : error
        }
        try sync()
    }

    /// The part that a direct write has made durable.
    private enum DirectWrite { case all, part, nothing }

    private func writeDirectly(_ buffer: UnsafeRawBufferPointer, at offset: UInt64) throws(FileError) -> DirectWrite {
        let mask = DirectAccess.alignment - 1
        guard let base = buffer.baseAddress,
            (Int(bitPattern: base) | buffer.count | Int(truncatingIfNeeded: offset)) & mask == 0
        else { return .nothing }
        let descriptor = directDescriptor()
        guard descriptor >= 0 else { return .nothing }
        let position = try position(offset, 0, "write")
        let count = uninterrupted { pwrite(descriptor, base, buffer.count, position) }
        if count == buffer.count { return .all }
        // A partial write, or a device with larger blocks: write and sync all of it normally.
        if count >= 0 { return count > 0 ? .part : .nothing }
        if errno != EINVAL { throw FileError(operation: "write", path: path, code: errno) }
        forbidDirect()
        return .nothing
    }

    /// Returns a second descriptor of the same file, opened at the first use; a negative number if the system has none.
    private func directDescriptor() -> Int32 {
        let known = direct.load(ordering: .acquiring)
        if known != DirectAccess.unknown { return known }
        let opened = max(DirectAccess.unsupported, mako_open_direct(descriptor))
        let (isMine, other) = direct.compareExchange(
            expected: DirectAccess.unknown, desired: opened, ordering: .acquiringAndReleasing)
        if isMine { return opened }
        if opened >= 0 { closeDescriptor(opened) }
        return other
    }

    private func forbidDirect() {
        let former = direct.exchange(DirectAccess.unsupported, ordering: .acquiringAndReleasing)
        if former >= 0 { closeDescriptor(former) }
    }

    func resize(to size: UInt64) throws(FileError) {
        let length = try position(size, 0, "resize")
        _ = try posix("resize", path) { ftruncate(descriptor, length) }
    }

    func allocate(_ range: Range<UInt64>) throws(FileError) {
        guard !range.isEmpty else { return }
        let start = try position(range.lowerBound, 0, "allocate")
        let end = try position(range.upperBound, 0, "allocate")
        #if canImport(Darwin)
            // Allocates behind the end only; holes before the end are not filled.
            _ = start
            let result = mako_extend(descriptor, Int64(end))
        #else
            let result = mako_allocate(descriptor, Int64(start), Int64(end - start))
        #endif
        if result == 0 { return }
        // Only behind the end, because other threads may be writing before it.
        if result == MAKO_NO_SUCH_ALLOCATION { return try writeZeros(upTo: range.upperBound) }
        throw FileError(operation: "allocate", path: path, code: errno)
    }

    func sync() throws(FileError) {
        let descriptor = descriptor
        #if canImport(Darwin)
            // On Apple platforms fsync leaves the bytes in the drive's cache, in any order. Some network and removable
            // volumes support only fsync, and some only a barrier.
            try Transfer.sync(
                path, { fcntl(descriptor, F_FULLFSYNC) },
                else: [{ fcntl(descriptor, F_BARRIERFSYNC) }, { fsync(descriptor) }])
        #else
            try Transfer.sync(path, { fdatasync(descriptor) })
        #endif
    }

    func barrier() throws(FileError) {
        #if canImport(Darwin)
            let descriptor = descriptor
            try Transfer.sync(
                path, { fcntl(descriptor, F_BARRIERFSYNC) },
                else: [{ fcntl(descriptor, F_FULLFSYNC) }, { fsync(descriptor) }])
        #else
            try sync()
        #endif
    }

    func startWriting(at offset: UInt64, count: Int) {
        mako_start_writing(descriptor, Int64(clamping: offset), Int64(count))
    }

    func startReading(at offset: UInt64, count: Int) {
        mako_start_reading(descriptor, Int64(clamping: offset), Int64(count))
    }

    func lock(exclusive: Bool) throws(FileError) -> Bool {
        hasLocks.store(true, ordering: .relaxed)
        #if canImport(Darwin)
            // Without open file description locks: flock here would exclude the pins of other handles.
            let result = mako_lock_byte(descriptor, Pins.fileLock, exclusive ? 1 : 0)
            if result >= 0 { return result == 1 }
            if result != MAKO_NO_SUCH_LOCKS { throw FileError(operation: "lock", path: path, code: errno) }
        #endif
        let descriptor = descriptor
        if uninterrupted({ flock(descriptor, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) }) == 0 { return true }
        if errno == EWOULDBLOCK { return false }
        throw FileError(operation: "lock", path: path, code: errno)
    }

    func takePlaceInLine() throws(FileError) -> Bool {
        hasLocks.store(true, ordering: .relaxed)
        let result = mako_lock_byte(descriptor, Pins.line, 1)
        if result == -1 { throw FileError(operation: "lock", path: path, code: errno) }
        // Without locks of bytes there is no line: all try at once.
        return result != 0
    }

    func leaveLine() {
        guard generation == Forks.generation else { return }
        mako_unlock_bytes(descriptor, Pins.line, 1)
    }

    /// Pins are shared locks of single bytes far behind the end of any file; the offset of the byte is the number.
    private enum Pins {
        static let start: Int64 = 1 << 62
        /// The byte for the lock of the file, where that is not `flock`.
        static let fileLock = start - 1
        /// The byte for the place of the next handle that gets the lock.
        static let line = start - 2
        /// A longer range is not a pin, but a lock of the whole file by another program.
        static let longestRun: Int64 = 1 << 16
    }

    func pin(_ number: UInt64) throws(FileError) -> Bool {
        guard number < UInt64(Pins.start) else { throw FileError(operation: "pin", path: path, code: EINVAL) }
        hasLocks.store(true, ordering: .relaxed)
        let result = mako_lock_byte(descriptor, Pins.start + Int64(number), 0)
        if result == -1 { throw FileError(operation: "pin", path: path, code: errno) }
        return result == 1
    }

    func pins() throws(FileError) -> [UInt64] {
        var found: [UInt64] = []
        // The system returns one lock of a range, so search the ranges on both sides of it.
        var ranges = [Pins.start...Int64.max - 1]
        while let range = ranges.popLast() {
            var first: Int64 = 0
            var last: Int64 = 0
            let result = mako_find_lock(descriptor, range.lowerBound, range.upperBound, &first, &last)
            if result == -1 { throw FileError(operation: "pins", path: path, code: errno) }
            guard result == 1 else { continue }
            // It hides the locks below it, so that the pins are unknown.
            guard last - first < Pins.longestRun else {
                throw FileError(operation: "pins", path: path, code: EBUSY)
            }
            for place in first...last { found.append(UInt64(place - Pins.start)) }
            if first > range.lowerBound { ranges.append(range.lowerBound...first - 1) }
            if last < range.upperBound { ranges.append(last + 1...range.upperBound) }
        }
        return found.sorted()
    }

    func shareBlocks(of other: any File) throws(FileError) -> Bool {
        guard let other = other as? POSIXFile else { return false }
        if mako_share_blocks(descriptor, other.descriptor) == 0 { return true }
        // Where a clone must be a new file, it replaces this file, which the caller has created.
        let clone = path + LogFile.infix + "clone"
        guard mako_clone(other.descriptor, clone) == 0 else { return false }
        return try takePlace(of: clone)
    }

    /// Replaces this file by one with another name, which gets this file's name, access and lock. `false` if this file
    /// is unchanged; the other file is removed then.
    ///
    /// No other thread may use this file meanwhile.
    func takePlace(of clone: String) throws(FileError) -> Bool {
        guard let file = ready(clone), renamePath(clone, path) == 0 else {
            _ = unlink(clone)
            return false
        }
        forbidDirect()
        direct.store(DirectAccess.unknown, ordering: .releasing)
        let (source, target) = (file.descriptor, descriptor)
        // The name leads to the clone now, so this handle must too; otherwise the caller would write to an unnamed
        // file.
        guard uninterrupted({ dup2(source, target) }) >= 0, fcntl(target, F_SETFD, FD_CLOEXEC) >= 0 else {
            throw FileError(operation: "open", path: path, code: errno)
        }
        // The locks belong to the open file description, which this handle has now.
        file.release()
        return true
    }

    /// Opens a clone and gives it this file's access and lock; nil on failure.
    private func ready(_ clone: String) -> POSIXFile? {
        let opened = uninterrupted { openDescriptor(clone, O_RDWR | O_CLOEXEC) }
        guard opened >= 0 else { return nil }
        let file = POSIXFile(path: clone, descriptor: opened, attributes: attributes)
        do throws(FileError) {
            if let access = try access() { file.adopt(access) }
            try file.applyAttributes()
            let isLocked = hasLocks.load(ordering: .relaxed)
            if isLocked, try !file.lock(exclusive: true) { return nil }
            return file
        } catch { return nil }
    }

    /// Closes the descriptor without releasing the locks, because other descriptors of the open file keep them.
    private func release() {
        closeDescriptor(descriptor)
        descriptor = -1
    }

    /// Sets the attributes of the file system; skips those that the volume does not support.
    func applyAttributes() throws(FileError) {
        if let protection = attributes.protection {
            _ = try posix("protect", path) { mako_set_protection(descriptor, protection.number) }
        }
        if let isExcluded = attributes.isExcludedFromBackup {
            _ = try posix("exclude from backups", path) { mako_exclude_from_backup(descriptor, isExcluded ? 1 : 0) }
        }
    }

    func close() {
        guard descriptor >= 0 else { return }
        forbidDirect()
        unlock()
        closeDescriptor(descriptor)
        descriptor = -1
    }

    func isNamed(_ path: String) throws(FileError) -> Bool {
        let own = try information("open")
        var named = stat()
        guard uninterrupted({ stat(path, &named) }) == 0 else {
            let error = FileError(operation: "open", path: path, code: errno)
            if error.isNotFound { return false }
            throw error
        }
        return own.st_dev == named.st_dev && own.st_ino == named.st_ino
    }

    func access() throws(FileError) -> FileAccess? {
        let information = try information("open")
        return FileAccess(
            permissions: UInt16(truncatingIfNeeded: information.st_mode & 0o777), owner: information.st_uid,
            group: information.st_gid)
    }

    /// On a failure the file keeps its owner, which created it.
    func adopt(_ access: FileAccess) {
        guard let own = try? self.access(), own != access else { return }
        var permissions = access.permissions
        if own.owner != access.owner, geteuid() == 0 {
            _ = uninterrupted { fchown(descriptor, access.owner, gid_t.max) }
        }
        if own.group != access.group, uninterrupted({ fchown(descriptor, uid_t.max, access.group) }) != 0 {
            permissions = access.permissionsOfOtherGroup
        }
        _ = uninterrupted { fchmod(descriptor, mode_t(permissions)) }
    }

    /// Releases the locks. The system releases them only when the last descriptor of the open file is closed, and a
    /// process that is being started may have one until its exec.
    func unlock() {
        // After a fork the parent has the same open file, so the child must not release its locks.
        guard hasLocks.load(ordering: .relaxed), generation == Forks.generation else { return }
        mako_unlock_bytes(descriptor, 0, 0)
        _ = uninterrupted { flock(descriptor, LOCK_UN) }
    }

    private func information(_ operation: String) throws(FileError) -> stat {
        var information = stat()
        guard uninterrupted({ fstat(descriptor, &information) }) == 0 else {
            throw FileError(operation: operation, path: path, code: errno)
        }
        return information
    }

    private func position(_ offset: UInt64, _ done: Int, _ operation: String) throws(FileError) -> off_t {
        let (sum, overflow) = offset.addingReportingOverflow(UInt64(done))
        guard !overflow, let position = off_t(exactly: sum) else {
            throw FileError(operation: operation, path: path, code: EFBIG)
        }
        return position
    }
}

// Free functions, because methods of the same name hide the system's.

private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

private func openDescriptor(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }

private func renamePath(_ from: String, _ to: String) -> Int32 { rename(from, to) }
