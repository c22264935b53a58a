/// What stands in one page of a database file, in use or not, whole or not.
package struct PageDescription: Sendable, Hashable {
    /// What the header of the page says.
    package struct Header: Sendable, Hashable {
        package var page: UInt64
        package var type: UInt8
        /// Nil where no type has this number.
        package var typeName: String?
        package var level: Int
        package var serial: UInt64
        package var tree: UInt32
        package var count: Int
        package var prefix: Int
        package var heap: Int
        package var garbage: Int
    }

    /// Whether the newest checkpoint that can be read counts the page as its own.
    package enum Use: Sendable, Hashable {
        /// One of the pages with a place of their own, and which.
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

    /// A number with its name, of pages that hold such.
    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: UInt64
    }

    package var number: UInt64
    /// The page as it stands in the file, shorter where the file ends.
    package var bytes: [UInt8]
    package var header: Header
    /// What is wrong with the page; nil when nothing is.
    package var problem: String?
    package var isBlank: Bool
    package var use: Use
    /// The name of the tree that the page says it belongs to.
    package var treeName: String?
    /// The pages from the root of that tree down to this one, without it; nil when no way leads here.
    package var way: [UInt64]?
    /// Of a node: its entries.
    package var entries: [Entry] = []
    /// Of a header block, a meta, a bitmap.
    package var fields: [Field] = []
}
