/// Inspects the pages of a database file, which may be damaged, and which another process may be writing.
///
/// Changes nothing, and trusts no page: each is described by its bytes, as far as they pass the checks.
package final class PageInspection {
    private let source: DamagedFile
    private let checkpoint: DamagedCheckpoint?

    /// - Throws: ``StorageError`` if there is no such file, or it cannot be identified as a database.
    package init(
        path: String, encryption: Encryption? = nil, fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StorageError) {
        source = try DamagedFile(path: path, fileSystem: fileSystem, encryption: encryption, isAlone: false)
        var finder = CheckpointFinder(source)
        checkpoint = try? finder.find { _ in }
    }

    deinit { source.close() }

    package var pageCount: UInt64 { source.pageCount }
    var codec: PageCodec { source.codec }

    func treeName(_ id: UInt32) -> String? { checkpoint?.names[id] }

    func read(_ first: UInt64, count: Int) throws(StorageError) -> [UInt8] {
        try DataFile.readPages(source.file, from: first, count: count)
    }

    /// Describes a page.
    ///
    /// - Throws: ``StorageError/invalidArgument(_:)`` for a page beyond the end, and I/O errors.
    package func page(_ number: UInt64) throws(StorageError) -> PageDescription {
        guard number < source.pageCount else {
            throw .invalidArgument("page \(number) lies beyond the end; the file has \(source.pageCount) pages")
        }
        let bytes = try DataFile.readPages(source.file, from: number, count: 1)
        let page = SalvagedPage()
        let whole = bytes + [UInt8](repeating: 0, count: pageBytes - bytes.count)
        let codec = number < UInt64(FileHeader.copies) ? .header : source.codec
        let isSealed = whole.withUnsafeBytes { page.take(number, from: $0, codec) }
        var description = PageDescription(
            number: number, bytes: bytes, header: header(page.header, page.type), isBlank: page.isBlank,
            use: use(of: number))
        description.problem = problem(page, isSealed: isSealed)
        if description.isBlank { return description }
        describe(page, &description)
        return description
    }

    private func header(_ page: Page, _ type: PageType?) -> PageDescription.Header {
        PageDescription.Header(
            page: page.number, type: page.type, typeName: type.map { "\($0)" }, level: page.level,
            writeID: page.writeID,
            tree: page.tree, count: page.count, prefix: page.prefix, heap: page.heap, garbage: page.garbage)
    }

    private func problem(_ page: SalvagedPage, isSealed: Bool) -> String? {
        if page.isBlank { return nil }
        if page.header.number != page.number {
            return isSealed ? "it says it is page \(page.header.number)" : source.codec.finding
        }
        if !isSealed { return source.codec.finding }
        guard page.keyKind != nil else { return page.type == nil ? "its type \(page.header.type) is unknown" : nil }
        do throws(StorageError) { try page.validate() } catch { return error.finding }
        return nil
    }

    func use(of number: UInt64) -> PageDescription.Use {
        let region = SpaceMap.region(of: number)
        let place = number - SpaceMap.page(region: region, bit: 0)
        let fixed = region == 0 ? UInt64(SpaceMap.fixedPages) : 0
        switch number {
        case 0..<UInt64(FileHeader.copies): return .fixed("header block, copy \(number)")
        case Meta.firstPage..<UInt64(SpaceMap.fixedPages):
            return .fixed("meta slot \(number < Meta.firstPage + 2 ? "A" : "B"), copy \(number % 2)")
        default: break
        }
        if place < fixed + UInt64(SpaceMap.bitmapCopies) {
            return .fixed("bitmap of region \(region), place \(place - fixed)")
        }
        switch checkpoint?.use(of: number) {
        case .live: return .inUse
        case .dead: return .free
        case .unknown, nil: return .unknown
        }
    }

    // MARK: Content

    private func describe(_ page: SalvagedPage, _ description: inout PageDescription) {
        switch page.type {
        case .integerLeaf, .integerInner, .byteLeaf, .byteInner:
            description.treeName = checkpoint?.names[page.header.tree]
            // The bounds check allows reading the entries, even with a wrong checksum.
            guard (try? page.validate()) != nil else { return }
            description.entries = (0..<page.header.count).map { entry(page, $0) }
            description.treePath = treePath(to: page)
        case .overflow: description.treeName = checkpoint?.names[page.header.tree]
        case .bitmap:
            let used = page.bitmapWords.reduce(0) { $0 + $1.nonzeroBitCount }
            description.fields = [.init(name: "pages in use", value: UInt64(used))]
        case .header:
            guard description.number < UInt64(FileHeader.copies),
                let header = page.fileHeader(copy: Int(description.number))
            else { return }
            description.fields = [
                .init(name: "id high", value: header.id.high), .init(name: "id low", value: header.id.low),
                .init(name: "must read", value: header.mustRead), .init(name: "must write", value: header.mustWrite),
                .init(name: "high-water mark", value: header.highWaterMark),
                .init(name: "segment bytes", value: header.segmentBytes),
                .init(name: "newest segment", value: header.newestSegment),
                .init(name: "generation", value: header.generation),
            ]
        case .meta:
            guard let meta = description.problem == nil ? page.meta : nil else { return }
            description.fields = [
                .init(name: "number", value: meta.number), .init(name: "commit", value: meta.commit),
                .init(name: "point", value: meta.point), .init(name: "lsn", value: meta.log.lsn),
                .init(name: "chain", value: meta.log.chain), .init(name: "next tree", value: meta.nextTreeID),
                .init(name: "directory page", value: meta.directory.firstPage),
                .init(name: "directory write id", value: meta.directory.firstWriteID),
                .init(name: "directory length", value: UInt64(meta.directory.length)),
                .init(name: "regions", value: meta.regions),
            ]
        case .directory, nil: break
        }
    }

    private func entry(_ page: SalvagedPage, _ slot: Int) -> PageDescription.Entry {
        if page.header.level > 0 {
            return .init(key: page.key(slot), content: .child(page: page.child(slot).page))
        }
        switch page.value(slot) {
        case .bytes(let bytes): return .init(key: page.key(slot), content: .value(bytes))
        case .malformed: return .init(key: page.key(slot), content: .malformed)
        case .overflow(let run):
            return .init(
                key: page.key(slot),
                content: .overflow(
                    firstPage: run.firstPage, pages: run.pageCount, length: run.length, isCompressed: run.isCompressed))
        }
    }

    /// Returns the path from the root of the page's tree, found by one of its keys.
    private func treePath(to page: SalvagedPage) -> [UInt64]? {
        guard let tree = checkpoint?.trees.first(where: { $0.id == page.header.tree }), tree.levels > 0,
            page.header.count > 0
        else { return nil }
        // Use the second key, because the first key of an inner node is not maintained.
        let key = page.key(page.header.level > 0 && page.header.count > 1 ? 1 : 0)
        var treePath: [UInt64] = []
        var next = tree.root.page
        let node = SalvagedPage()
        while next != page.number {
            treePath.append(next)
            guard treePath.count <= tree.levels, (try? node.read(next, from: source)) != nil, node.header.level > 0,
                node.keyKind == page.keyKind, (try? node.validate()) != nil
            else { return nil }
            let slot = (1..<max(1, node.header.count)).last { node.key($0) <= key } ?? 0
            next = node.child(slot).page
        }
        return treePath
    }
}
