import MakoStorage

/// Objects as files of a folder, for a second disk, a network file system and tests.
///
/// `put` writes a temporary file, syncs it, renames it atomically and syncs the directory. An object therefore exists as a whole or not at all, and
/// of two writers of one name exactly one succeeds.
///
/// ```swift
/// let objects = try FolderObjectStore(at: "/mnt/backup/mako")
/// ```
public struct FolderObjectStore: ObjectStore {
    private let root: String
    private let files = POSIXFileSystem()

    /// The file that marks a folder as an object store.
    private static let marker = ".mako-objects"
    private static let content = Array("Mako objects 1\n".utf8)
    /// The directory of temporary files.
    private static let unfinished = ".mako-unfinished"

    /// Opens a folder of objects, or creates it in an existing directory.
    ///
    /// - Parameter path: an empty folder, an object store, or the path of a new folder.
    /// - Throws: ``ObjectStoreError/foreign(path:reason:)`` when the folder holds other files;
    ///   ``ObjectStoreProblem/noDirectory``.
    public init(at path: String) throws(ObjectStoreError) {
        guard !path.isEmpty else { throw .foreign(path: path, reason: "its path is empty") }
        root = path
        if files.exists(path) && !files.isDirectory(path) { throw .foreign(path: path, reason: "it is a file") }
        let directory = FolderObjectStore.directory(of: path)
        if !files.isDirectory(path) && !files.isDirectory(directory) {
            throw .setup(.noDirectory, reason: "there is no directory \(directory)")
        }
        try make(path)
        try claim()
        try make(place(FolderObjectStore.unfinished))
        removeAbandoned()
    }

    // MARK: Objects

    /// Writes an object beside its place, syncs it, and renames it there if the condition holds. The tag is a digest of the content.
    public func put(
        _ name: String, _ content: ObjectContent, _ condition: PutCondition
    ) throws(ObjectStoreError) -> ObjectTag {
        let place = try place(of: name)
        // Saves the writing when the object already exists.
        if condition == .ifAbsent && files.exists(place) { throw try settled(name, place) }
        try makeFolders(of: name)
        let (unfinished, file) = try begin()
        var isPublished = false
        defer {
            if !isPublished { try? files.remove(unfinished) }
            file.close()
        }
        var digest = Digest()
        var offset: UInt64 = 0
        try content.forEachPiece { piece throws(ObjectStoreError) in
            digest.add(piece)
            try attempt { () throws(FileError) in try file.write(piece, at: offset) }
            offset += UInt64(piece.count)
        }
        try attempt { () throws(FileError) in try file.sync() }
        switch condition {
        case .ifAbsent:
            do throws(FileError) { try files.renameExclusively(unfinished, to: place) } catch {
                if error.isExists { throw try settled(name, place) }
                throw ObjectStoreError(error)
            }
            isPublished = true
        case .ifMatch(let tag):
            try replace(name, place, with: unfinished, tag)
            isPublished = true
        }
        try attempt { () throws(FileError) in try files.syncDirectory(FilePath.directory(of: place)) }
        return FolderObjectStore.tag(digest.finish(), offset)
    }

    /// Reads the file of an object, or a range of it.
    ///
    /// - Throws: ``ObjectStoreError/notFound(name:)``.
    public func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes {
        let place = try place(of: name)
        let file: any File
        do throws(FileError) { file = try files.open(place, .readOnly) } catch {
            throw error.isNotFound || files.isDirectory(place) ? .notFound(name: name) : ObjectStoreError(error)
        }
        defer { file.close() }
        let total = try attempt { () throws(FileError) in try file.size() }
        let lower = min(range?.lowerBound ?? 0, total)
        let upper = min(range?.upperBound ?? total, total)
        let bytes = try attempt { () throws(FileError) in try file.bytes(from: lower, count: Int(upper - lower)) }
        // The tag of a range would require reading the whole object.
        let tag = lower == 0 && upper == total ? FolderObjectStore.tag(Digest.of(bytes), total) : ObjectTag("")
        return ObjectBytes(bytes: bytes, tag: tag, total: total)
    }

    /// Lists the files below the deepest folder of the prefix, in ascending order of their bytes.
    public func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String] {
        // The deepest folder that contains all names with the prefix.
        let folder = prefix.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(prefix[..<$0]) } ?? ""
        if !folder.isEmpty && ObjectName.parts(folder) == nil { throw .invalidName(prefix) }
        var found: [String] = []
        try collect(folder, prefix, name, &found)
        found.sort(by: ObjectName.isBefore)
        return Array(found.prefix(limit))
    }

    /// Removes the file of an object. Removing a missing object succeeds.
    public func delete(_ name: String) throws(ObjectStoreError) {
        let place = try place(of: name)
        do throws(FileError) {
            try files.remove(place)
            try files.syncDirectory(FilePath.directory(of: place))
        } catch { if !error.isNotFound { throw ObjectStoreError(error) } }
    }

    // MARK: Names and folders

    private static func directory(of path: String) -> String {
        let end = path.utf8.lastIndex { $0 != UInt8(ascii: "/") }
        return end.map { FilePath.directory(of: String(path[...$0])) } ?? "/"
    }

    private func place(_ name: String) -> String { root.hasSuffix("/") ? root + name : "\(root)/\(name)" }

    private func place(of name: String) throws(ObjectStoreError) -> String {
        guard ObjectName.parts(name) != nil else { throw .invalidName(name) }
        return place(name)
    }

    private func make(_ folder: String) throws(ObjectStoreError) {
        try attempt { () throws(FileError) in
            if try files.makeDirectory(folder) { try files.syncDirectory(FilePath.directory(of: folder)) }
        }
    }

    private func makeFolders(of name: String) throws(ObjectStoreError) {
        var folder = ""
        for part in (ObjectName.parts(name) ?? []).dropLast() {
            folder += folder.isEmpty ? String(part) : "/\(part)"
            if !files.isDirectory(place(folder)) { try make(place(folder)) }
        }
    }

    private func collect(
        _ folder: String, _ prefix: String, _ after: String?, _ found: inout [String]
    ) throws(ObjectStoreError) {
        let names: [String]
        do throws(FileError) { names = try files.list(directory: folder.isEmpty ? root : place(folder)) } catch {
            if error.isNotFound { return }
            throw ObjectStoreError(error)
        }
        // Skips files whose names are not those of objects.
        for part in names where ObjectName.isPart(part) {
            let name = folder.isEmpty ? part : "\(folder)/\(part)"
            // Everything in the folder sorts before the other name.
            if let after, ObjectName.isBefore("\(name)/", after), !after.utf8.starts(with: "\(name)/".utf8) { continue }
            if files.isDirectory(place(name)) {
                let isInside = name.utf8.starts(with: prefix.utf8) || prefix.utf8.starts(with: "\(name)/".utf8)
                if isInside { try collect(name, prefix, after, &found) }
            } else if name.utf8.starts(with: prefix.utf8), after.map({ ObjectName.isBefore($0, name) }) ?? true {
                found.append(name)
            }
        }
    }

    // MARK: The marker

    /// Marks an empty folder as an object store, and refuses folders with other files.
    private func claim() throws(ObjectStoreError) {
        let marker = place(FolderObjectStore.marker)
        let names = try attempt { () throws(FileError) in try files.list(directory: root) }
        if !names.contains(FolderObjectStore.marker) {
            guard names.isEmpty || names == [FolderObjectStore.unfinished] else {
                throw .foreign(path: root, reason: "it holds other files, '\(names[0])' among them")
            }
            let file: any File
            do throws(FileError) { file = try files.open(marker, .createNew) } catch {
                if error.isExists { return try check(marker) }
                throw ObjectStoreError(error)
            }
            defer { file.close() }
            return try attempt { () throws(FileError) in
                try file.write(FolderObjectStore.content, at: 0)
                try file.sync()
                try files.syncDirectory(root)
            }
        }
        try check(marker)
    }

    private func check(_ marker: String) throws(ObjectStoreError) {
        let file = try attempt { () throws(FileError) in try files.open(marker, .readOnly) }
        defer { file.close() }
        let found = try attempt { () throws(FileError) in
            try file.bytes(from: 0, count: FolderObjectStore.content.count + 1)
        }
        // A crash, or another process that is writing it, leaves a prefix of the content.
        if FolderObjectStore.content.starts(with: found) && found.count < FolderObjectStore.content.count {
            let again = try attempt { () throws(FileError) in try files.open(marker, .readWrite) }
            defer { again.close() }
            return try attempt { () throws(FileError) in
                try again.write(FolderObjectStore.content, at: 0)
                try again.sync()
            }
        }
        guard found == FolderObjectStore.content else {
            throw .foreign(path: root, reason: "its file \(FolderObjectStore.marker) is of another version")
        }
    }

    // MARK: Unfinished files

    private func begin() throws(ObjectStoreError) -> (path: String, file: any File) {
        while true {
            let name = ObjectName.padded(.random(in: .min ... .max), 16, radix: 16)
            let path = place("\(FolderObjectStore.unfinished)/\(name)")
            let file: any File
            do throws(FileError) { file = try files.open(path, .createNew) } catch {
                if error.isExists { continue }
                throw ObjectStoreError(error)
            }
            // Another process removes unlocked files as leftovers of a crash.
            let isOurs = try attempt { () throws(FileError) in
                guard try file.lock(exclusive: true) else { return false }
                return try file.isNamed(path)
            }
            if isOurs { return (path, file) }
            file.close()
        }
    }

    private func removeAbandoned() {
        let folder = place(FolderObjectStore.unfinished)
        for name in (try? files.list(directory: folder)) ?? [] {
            guard let file = try? files.open("\(folder)/\(name)", .readWrite) else { continue }
            defer { file.close() }
            if (try? file.lock(exclusive: true)) == true { try? files.remove("\(folder)/\(name)") }
        }
    }

    // MARK: Conditions

    /// Syncs the name of an existing object before it is reported: the caller's next steps depend on it.
    private func settled(_ name: String, _ place: String) throws(ObjectStoreError) -> ObjectStoreError {
        try attempt { () throws(FileError) in try files.syncDirectory(FilePath.directory(of: place)) }
        return .exists(name: name)
    }

    /// Replaces an object that has a tag, under an exclusive lock of the marker.
    private func replace(
        _ name: String, _ place: String, with unfinished: String, _ tag: ObjectTag
    ) throws(ObjectStoreError) {
        let marker = try attempt { () throws(FileError) in
            try files.open(self.place(FolderObjectStore.marker), .readWrite)
        }
        defer { marker.close() }
        let isLocked = try attempt { () throws(FileError) in try marker.lock(exclusive: true) }
        guard isLocked else { throw .unavailable(reason: "another process replaces an object of \(root)") }
        guard try get(name, nil).tag == tag else { throw .changed(name: name) }
        try attempt { () throws(FileError) in try files.rename(unfinished, to: place) }
    }

    private static func tag(_ digest: UInt64, _ bytes: UInt64) -> ObjectTag {
        ObjectTag(ObjectName.padded(digest, 16, radix: 16) + "-\(bytes)")
    }

    // MARK: Files

    private func attempt<R>(_ body: () throws(FileError) -> R) throws(ObjectStoreError) -> R {
        do throws(FileError) { return try body() } catch { throw ObjectStoreError(error) }
    }
}

extension ObjectStoreError {
    init(_ error: FileError) {
        self = error.isRefusal ? .refused(reason: "\(error)") : .unavailable(reason: "\(error)")
    }
}
