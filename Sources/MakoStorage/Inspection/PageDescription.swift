/// The contents of one page of a database file, in use or not, intact or not.
package struct PageDescription: Sendable, Hashable {
    /// The fields of the page header.
    package struct Header: Sendable, Hashable {
        package var page: UInt64
        package var type: UInt8
        /// The name of the type; nil for an unknown type.
        package var typeName: String?
        package var level: Int
        package var writeID: UInt64
        package var tree: UInt32
        package var count: Int
        package var prefix: Int
        package var heap: Int
        package var garbage: Int
    }

    /// The use of the page by the newest readable checkpoint.
    package enum Use: Sendable, Hashable {
        /// A page at a fixed place, and its purpose.
        case fixed(String)
        case inUse
        case free
        case unknown
    }

    package struct Entry: Sendable, Hashable {
        package var key: SalvageReport.Key
        package var content: Content

        package enum Content: Sendable, Hashable {
            case value([UInt8])
            case overflow(firstPage: UInt64, pages: Int, length: Int, isCompressed: Bool)
            case child(page: UInt64)
            case malformed
        }
    }

    /// A named number, of pages that have such fields.
    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: UInt64
    }

    package var number: UInt64
    /// The bytes of the page in the file, fewer at the end of the file.
    package var bytes: [UInt8]
    package var header: Header
    /// The damage of the page; nil if there is none.
    package var problem: String?
    package var isBlank: Bool
    package var use: Use
    /// The name of the tree in the page header.
    package var treeName: String?
    /// The pages from the root of that tree to this page, without it; nil if no path leads here.
    package var treePath: [UInt64]?
    /// The entries of a node.
    package var entries: [Entry] = []
    /// The fields of a header block, a meta or a bitmap.
    package var fields: [Field] = []
}
