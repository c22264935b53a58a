/// The readable part of a checkpoint: its roots, and the pages in use.
struct DamagedCheckpoint {
    /// Nil if both metas are lost and the directory was found by a search.
    var meta: Meta?
    var trees: [TreeState] = []
    var names: [UInt32: String] = [:]
    /// Whether all trees are listed.
    var isListWhole = false
    /// The pages in use, by region; nil where they are unknown.
    var bitmaps: [[UInt64]?] = []

    var knowsAllPages: Bool { !bitmaps.isEmpty && bitmaps.allSatisfy { $0 != nil } }

    enum Use { case live, dead, unknown }

    /// Returns whether a page is part of the checkpoint, as far as known.
    func use(of page: UInt64) -> Use {
        let region = SpaceMap.region(of: page)
        guard region < bitmaps.count, let words = bitmaps[region] else { return .unknown }
        let bit = SpaceMap.bit(of: page)
        return words[bit / 64] & 1 << UInt64(bit % 64) != 0 ? .live : .dead
    }

    mutating func take(_ directory: Directory) {
        trees = directory.trees
        names = directory.names.byID
    }

    /// Whether a page with this write id can be part of it: higher write ids were written later.
    func covers(writeID: UInt64) -> Bool { meta.map { writeID < $0.point } ?? true }
}

/// Finds the newest checkpoint of a damaged file.
struct CheckpointFinder {
    private let source: DamagedFile
    private(set) var findings: [String] = []
    private(set) var isCertain = true
    /// The highest write id of a tree page that a search has found.
    private var youngest: UInt64 = 0

    init(_ source: DamagedFile) { self.source = source }

    /// Returns the newest checkpoint with a complete directory, else the one with the most information.
    ///
    /// - Parameter progress: called regularly with the number of pages read, when the whole file must be searched.
    mutating func find(_ progress: (UInt64) -> Void) throws(StorageError) -> DamagedCheckpoint {
        let metas = readMetas()
        var partial: DamagedCheckpoint?
        for meta in metas {
            let found = checkpoint(meta)
            if found.isListWhole {
                if partial != nil { findings.append("the older checkpoint, of commit \(meta.commit), is used instead") }
                return found
            }
            findings.append("the directory of the checkpoint of commit \(meta.commit) is damaged")
            partial = partial ?? found
        }
        // The file may have directories without a meta, of lost or earlier metas, which have names at least.
        let runs = try searchDirectories(progress)
        if var found = partial {
            for run in runs { found.names.merge(names(in: run)) { known, _ in known } }
            return found
        }
        findings.append("no meta page can be read")
        isCertain = false
        var found = DamagedCheckpoint()
        // If a bitmap is newer than every directory, the pages in use are known, but not the roots.
        let newestBitmap = newestBitmapWriteID()
        for run in runs where run.writeID >= newestBitmap {
            guard let whole = checkpoint(run) else { continue }
            found = whole
            break
        }
        if !found.isListWhole, newestBitmap > 0 {
            found.bitmaps = (0..<likelyRegions).map { bitmap($0, asOf: newestBitmap) }
        }
        for run in runs { found.names.merge(names(in: run)) { known, _ in known } }
        return found
    }

    // MARK: By the metas

    private mutating func readMetas() -> [Meta] {
        var metas: [Meta] = []
        let page = SalvagedPage()
        for place in Meta.firstPage..<Meta.firstPage + UInt64(2 * Meta.copies) {
            let meta = (try? page.read(place, from: source)).flatMap { page.meta }
            guard let meta else {
                findings.append("page \(place), a copy of a meta, is damaged")
                source.noteDamaged(place)
                continue
            }
            if !metas.contains(meta) { metas.append(meta) }
        }
        return metas.sorted { $0.number > $1.number }
    }

    private func checkpoint(_ meta: Meta) -> DamagedCheckpoint {
        let run = meta.directory
        let count = max(1, run.pageCount)
        let page = SalvagedPage()
        var content: [UInt8] = []
        for index in 0..<count {
            let number = run.firstPage + UInt64(index)
            guard (try? page.read(number, from: source)) != nil, page.type == .directory,
                page.header.writeID == run.firstWriteID
            else {
                source.noteDamaged(number)
                break
            }
            content += page.body.prefix(run.length - content.count)
        }
        var found = DamagedCheckpoint(meta: meta)
        let part = Directory.read(content, regions: Int(meta.regions))
        if let part { found.take(part.directory) }
        found.isListWhole = part?.end == run.length
        found.bitmaps = (0..<min(Int(meta.regions), likelyRegions + 1)).map { region in
            if let state = part?.directory.regions[region] {
                return try? bitmap(region, Int(state.copy), state.writeID)
            }
            return bitmap(region, asOf: run.firstWriteID)
        }
        return found
    }

    // MARK: Bitmaps

    private func bitmap(_ region: Int, _ copy: Int, _ writeID: UInt64) throws(StorageError) -> [UInt64] {
        do throws(StorageError) { return try readBitmap(region, copy, writeID).words } catch {
            source.noteDamaged(SpaceMap.bitmapPage(region: region, copy: copy))
            throw error
        }
    }

    private func readBitmap(_ region: Int, _ copy: Int, _ writeID: UInt64?) throws(StorageError) -> (
        words: [UInt64], writeID: UInt64
    ) {
        let number = SpaceMap.bitmapPage(region: region, copy: copy)
        let page = SalvagedPage()
        try page.read(number, from: source)
        guard page.type == .bitmap, writeID == nil || page.header.writeID == writeID else {
            throw .corrupted(page: number, reason: "it is not the bitmap it should be")
        }
        return (page.bitmapWords, page.header.writeID)
    }

    /// Returns the bitmap of a region for the checkpoint with this write id, if it can be determined without the
    /// directory: it was written with the checkpoint, or all copies are readable and it is the newest that is not
    /// newer.
    private func bitmap(_ region: Int, asOf writeID: UInt64) -> [UInt64]? {
        var readable: [(words: [UInt64], writeID: UInt64)] = []
        for copy in 0..<SpaceMap.bitmapCopies {
            if let found = try? readBitmap(region, copy, nil) { readable.append(found) }
        }
        guard let newest = readable.filter({ $0.writeID <= writeID }).max(by: { $0.writeID < $1.writeID }) else {
            return nil
        }
        return newest.writeID == writeID || readable.count == SpaceMap.bitmapCopies ? newest.words : nil
    }

    private func newestBitmapWriteID() -> UInt64 {
        var newest: UInt64 = 0
        for region in 0..<likelyRegions {
            for copy in 0..<SpaceMap.bitmapCopies {
                if let found = try? readBitmap(region, copy, nil) { newest = max(newest, found.writeID) }
            }
        }
        return newest
    }

    // MARK: By searching

    /// A directory in the file: consecutive pages with one write id.
    private struct Run {
        var writeID: UInt64
        var last: UInt64
        var content: [UInt8]
    }

    /// Returns the directories in the file, the newest first.
    private mutating func searchDirectories(_ progress: (UInt64) -> Void) throws(StorageError) -> [Run] {
        var runs: [Run] = []
        var youngest: UInt64 = 0
        try source.scan { (page, isWhole) throws(StorageError) in
            progress(page.number)
            guard isWhole else { return }
            let writeID = page.header.writeID
            if page.keyKind != nil { youngest = max(youngest, writeID) }
            guard page.type == .directory else { return }
            if let index = runs.lastIndex(where: { $0.writeID == writeID && $0.last + 1 == page.number }) {
                runs[index].last = page.number
                runs[index].content += page.body
            } else {
                runs.append(Run(writeID: writeID, last: page.number, content: Array(page.body)))
            }
        }
        self.youngest = youngest
        return runs.sorted { $0.writeID > $1.writeID }
    }

    private var likelyRegions: Int {
        max(1, Int((source.pageCount + UInt64(SpaceMap.pagesPerRegion) - 1) / UInt64(SpaceMap.pagesPerRegion)))
    }

    /// Decodes a run as a directory, with the number of regions that decodes best.
    private func directory(_ run: Run) -> Directory? {
        var best: Directory?
        for regions in 1...likelyRegions + 1 {
            guard let (found, end) = Directory.read(run.content, regions: regions),
                run.content[end...].allSatisfy({ $0 == 0 })
            else { continue }
            if found.trees.count > best?.trees.count ?? -1 { best = found }
        }
        return best
    }

    private func names(in run: Run) -> [UInt32: String] { directory(run)?.names.byID ?? [:] }

    /// Returns a checkpoint from its directory alone, if one of its bitmaps is readable, or no tree was changed since;
    /// else nil.
    private func checkpoint(_ run: Run) -> DamagedCheckpoint? {
        guard let directory = directory(run) else { return nil }
        var found = DamagedCheckpoint()
        found.take(directory)
        found.isListWhole = true
        found.bitmaps = directory.regions.enumerated().map { region, state in
            (try? readBitmap(region, Int(state.copy), state.writeID))?.words
        }
        return found.bitmaps.contains { $0 != nil } || youngest < run.writeID ? found : nil
    }
}
