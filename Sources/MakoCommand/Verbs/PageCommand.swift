import ArgumentParser
import MakoStorage

struct PageCommand: Verb {
    static let configuration = CommandConfiguration(
        commandName: "page", abstract: "Shows the content of one page of a file.",
        discussion: """
            Works on damaged files, and on such that another process has open. The exit status is 1 when the page is damaged.

              mako page people.mako 12
              mako page people.mako 12 --hex
            """)

    @Argument(help: "The database file.", completion: .file())
    var file: String

    @OptionGroup var access: KeyOptions

    @Argument(help: "The number of the page; the file begins with page 0.")
    var number: UInt64

    @Flag(help: "Show the bytes, too.")
    var hex = false

    func perform() throws {
        let page = try access.with { options in
            try PageInspection(path: file, encryption: options.encryption).page(number)
        }
        var lines = ["page \(page.number) of \(file)"]
        let header = page.header
        if page.isBlank {
            lines.append("  all zeros")
        } else {
            lines += [
                "  type      \(header.typeName ?? "unknown (\(header.type))"), level \(header.level)",
                "  write id  \(header.writeID)",
            ]
        }
        lines.append("  use       \(use(page.use))")
        if header.tree != 0 {
            lines.append("  tree      \(page.treeName.map { "\($0), " } ?? "")number \(header.tree)")
        }
        if let treePath = page.treePath {
            lines.append("  path      \((treePath + [page.number]).map(String.init).joined(separator: " > "))")
        }
        if let problem = page.problem { lines.append("  damage    \(problem)") }
        for field in page.fields { lines.append("  \(field.name): \(field.value)") }
        if !page.entries.isEmpty || header.typeName?.hasSuffix("Leaf") == true {
            lines.append("  \(DisplayText.count(page.entries.count, "entry", plural: "entries"))")
        }
        for entry in page.entries { lines.append("    \(InspectionText.key(entry.key))  \(content(entry.content))") }
        if hex { lines += dump(page.bytes) }
        Terminal.write(lines.map { $0 + "\n" }.joined())
        if page.problem != nil { throw ExitCode(Failure.Status.damaged.rawValue) }
    }

    private func use(_ use: PageDescription.Use) -> String {
        switch use {
        case .fixed(let place): place
        case .inUse: "in use"
        case .free: "free"
        case .unknown: "unknown: the map of pages cannot be read"
        }
    }

    private func content(_ content: PageDescription.Entry.Content) -> String {
        switch content {
        case .value(let bytes): "\(DisplayText.count(bytes.count, "byte")): \(InspectionText.bytes(bytes))"
        case .overflow(let first, let pages, let length, let isCompressed):
            "\(DisplayText.count(length, "byte")) on \(DisplayText.count(pages, "page")) from page \(first)"
                + (isCompressed ? ", compressed" : "")
        case .child(let page): "page \(page)"
        case .malformed: "a value that contradicts itself"
        }
    }

    private func dump(_ bytes: [UInt8]) -> [String] {
        stride(from: 0, to: bytes.count, by: 16).map { start in
            let row = bytes[start..<min(start + 16, bytes.count)]
            let numbers = row.map { InspectionText.hex($0) }.joined(separator: " ")
            let text = String(
                decoding: row.map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: ".") }, as: UTF8.self)
            return
                "\(InspectionText.hex(UInt8(start >> 8)))\(InspectionText.hex(UInt8(start & 0xff)))  \(numbers)  \(text)"
        }
    }
}

/// Keys and values, truncated to fit a line.
enum InspectionText {
    private static let shownBytes = 24

    static func key(_ key: SalvageReport.Key) -> String {
        switch key {
        case .integer(let number): "\(number)"
        case .bytes(let bytes): self.bytes(bytes)
        }
    }

    /// As text if printable, otherwise in hexadecimal.
    static func bytes(_ bytes: [UInt8]) -> String {
        let shown = bytes.prefix(shownBytes)
        let rest = bytes.count > shown.count ? "…" : ""
        if !shown.isEmpty, shown.allSatisfy({ (0x20..<0x7f).contains($0) }) {
            return "'\(String(decoding: shown, as: UTF8.self))'\(rest)"
        }
        return shown.map(hex).joined() + rest
    }

    static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
}
