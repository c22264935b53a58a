/// A store of immutable named objects, such as S3: the destination of a replicated log.
///
/// A name consists of parts of lower-case letters, digits, `-`, `_` and `.`, separated by `/`; no part begins with `.`. An object exists as a whole
/// or not at all. A read after a `put` returns what it put; a listing may show it later.
public protocol ObjectStore: Sendable {
    /// Creates or replaces an object if the condition holds.
    ///
    /// - Returns: a tag that changes with the content.
    /// - Throws: ``ObjectStoreError/exists(name:)`` or ``ObjectStoreError/changed(name:)`` if the condition does not hold. After any other
    ///   error the object may exist or not.
    func put(_ name: String, _ content: ObjectContent, _ condition: PutCondition) throws(ObjectStoreError) -> ObjectTag

    /// Reads an object, or the part of a range that it contains. The tag of a range may be empty.
    ///
    /// - Throws: ``ObjectStoreError/notFound(name:)``.
    func get(_ name: String, _ range: Range<UInt64>?) throws(ObjectStoreError) -> ObjectBytes

    /// Lists the names that begin with a prefix and sort after another name, in ascending order of their bytes.
    ///
    /// - Parameters:
    ///   - prefix: what the names begin with; empty: all names.
    ///   - name: the name after which the list begins; nil: at the first.
    ///   - limit: the largest number of names.
    func list(_ prefix: String, after name: String?, limit: Int) throws(ObjectStoreError) -> [String]

    /// Removes an object. Removing a missing object succeeds.
    func delete(_ name: String) throws(ObjectStoreError)
}

/// The condition of a write.
public enum PutCondition: Sendable, Hashable {
    /// No object has the name.
    case ifAbsent
    /// The object has this tag.
    case ifMatch(ObjectTag)
}

/// A value that identifies the content of an object.
public struct ObjectTag: Sendable, Hashable {
    /// The text that the store uses, such as an `ETag`.
    public var text: String

    /// Creates a tag from the text of a store.
    public init(_ text: String) { self.text = text }
}

/// The bytes of an object, or of a range.
public struct ObjectBytes: Sendable, Hashable {
    /// The bytes that were read.
    public var bytes: [UInt8]
    /// The tag of the object; may be empty for a range.
    public var tag: ObjectTag
    /// The size of the whole object.
    public var total: UInt64

    /// Creates the result of a read.
    public init(bytes: [UInt8], tag: ObjectTag, total: UInt64) {
        self.bytes = bytes
        self.tag = tag
        self.total = total
    }
}

/// The content of an object, read in pieces.
public struct ObjectContent {
    /// The largest piece that a reader requests.
    public static let pieceBytes = 1 << 20

    /// The size of the content, in bytes.
    public let bytes: UInt64
    private let source: (_ offset: UInt64, _ count: Int) throws(ObjectStoreError) -> [UInt8]

    /// Creates content that is read where it is needed.
    ///
    /// - Parameters:
    ///   - bytes: the size of the content.
    ///   - source: returns exactly the bytes of a range inside the content.
    public init(
        bytes: UInt64, _ source: @escaping (_ offset: UInt64, _ count: Int) throws(ObjectStoreError) -> [UInt8]
    ) {
        self.bytes = bytes
        self.source = source
    }

    /// Creates content from bytes in memory.
    public init(_ bytes: [UInt8]) {
        self.init(bytes: UInt64(bytes.count)) { offset, count in Array(bytes[Int(offset)..<Int(offset) + count]) }
    }

    /// Reads the content in pieces, from the beginning to the end.
    public func forEachPiece(_ body: ([UInt8]) throws(ObjectStoreError) -> Void) throws(ObjectStoreError) {
        var offset: UInt64 = 0
        while offset < bytes {
            let count = Int(min(bytes - offset, UInt64(ObjectContent.pieceBytes)))
            try body(try read(from: offset, count: count))
            offset += UInt64(count)
        }
    }

    /// Reads a range inside the content.
    public func read(from offset: UInt64, count: Int) throws(ObjectStoreError) -> [UInt8] {
        let piece = try source(offset, count)
        guard piece.count == count else { throw .source("it ends at \(offset + UInt64(piece.count)) bytes") }
        return piece
    }
}

/// An error of an object store.
public enum ObjectStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    case notFound(name: String)
    /// An object with the name exists.
    case exists(name: String)
    /// The object has another tag than the condition requires.
    case changed(name: String)
    /// The store does not answer, or is busy. The call may have taken effect.
    case unavailable(reason: String)
    /// The store rejects the call.
    case refused(reason: String)
    /// The folder or prefix contains other data.
    case foreign(path: String, reason: String)
    case invalidName(String)
    /// The content of a `put` could not be read.
    case source(String)
    /// A configuration error. Repeating the call does not help.
    case setup(ObjectStoreProblem, reason: String)

    public var description: String {
        switch self {
        case .notFound(let name): "there is no object \(name)"
        case .exists(let name): "there is an object \(name) already"
        case .changed(let name): "the object \(name) was changed meanwhile"
        case .unavailable(let reason): "the object store is not available: \(reason); try again later"
        case .refused(let reason): "the object store refused it: \(reason)"
        case .foreign(let path, let reason):
            "\(path) holds no objects of Mako: \(reason); use an empty folder or prefix"
        case .invalidName(let name): "'\(name)' is not the name of an object"
        case .source(let reason): "the content of an object could not be read: \(reason)"
        case .setup(let problem, let reason): "\(reason); \(problem.remedy)"
        }
    }
}

/// A configuration error of an object store.
public enum ObjectStoreProblem: Sendable, Hashable {
    case noCredentials
    /// The service does not know the keys, or they have expired.
    case invalidCredentials
    /// The clocks of this machine and of the service differ by more than the service accepts.
    case clockSkew
    case noBucket
    /// The directory in which a folder of objects would be created does not exist.
    case noDirectory
    /// The region of the bucket, where the service names it.
    case wrongRegion(String?)
    /// The keys lack a permission.
    case accessDenied
    /// The service replaces objects that must only be created: two writers of one branch would not notice each other.
    case ignoresConditions
    /// The URL, the bucket, the prefix or the endpoint cannot be one.
    case invalidAddress
    /// The service cannot be reached safely.
    case unreachable

    /// The action that corrects it.
    public var remedy: String {
        switch self {
        case .noCredentials: "set these variables or AWS_PROFILE, or pass the keys"
        case .invalidCredentials: "check the keys, or renew them"
        case .clockSkew: "set the clock"
        case .noBucket: "create it, or check its name, the endpoint and the region"
        case .noDirectory: "create it, or mount its disk"
        case .wrongRegion(let region?): "use region \(region)"
        case .wrongRegion(nil): "use the region of the bucket"
        case .accessDenied: "add the permission to the policy"
        case .ignoresConditions: "use a service that honours If-None-Match, because replication depends on it"
        case .invalidAddress: "correct it"
        case .unreachable: "check the endpoint and its certificate"
        }
    }
}
