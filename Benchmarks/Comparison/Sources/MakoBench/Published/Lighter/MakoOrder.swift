import Mako

/// An order as a user of Mako writes it.
@Entity("Orders") struct MakoOrder: OrderLike {
    @Attribute(.primaryKey) var orderID: Int
    var customerID: String?
    var employeeID: Int?
    var orderDate: String?
    var requiredDate: String?
    var shippedDate: String?
    var shipVia: Int?
    var freight: Double?
    var shipName: String?
    var shipAddress: String?
    var shipCity: String?
    var shipRegion: String?
    var shipPostalCode: String?
    var shipCountry: String?

    init(_ data: OrderData) {
        orderID = data.orderID
        customerID = data.customerID
        employeeID = data.employeeID
        orderDate = data.orderDate
        requiredDate = data.requiredDate
        shippedDate = data.shippedDate
        shipVia = data.shipVia
        freight = data.freight
        shipName = data.shipName
        shipAddress = data.shipAddress
        shipCity = data.shipCity
        shipRegion = data.shipRegion
        shipPostalCode = data.shipPostalCode
        shipCountry = data.shipCountry
    }
}

final class MakoOrders: OrderEngine {
    static let name = "Mako"

    private let database: Database

    init(directory: String, count: Int) throws {
        let filler = try Database(directory: directory, entities: [MakoOrder.self], durability: .relaxed)
        try filler.save((0..<count).map { MakoOrder(OrderData(number: $0)) })
        try filler.close()
        database = try Database(
            at: directory + "/data.mako", entities: [MakoOrder.self],
            options: DatabaseOptions(cacheBytes: 1 << 30, readOnly: true))
    }

    func fetchAll() throws -> [MakoOrder] { try database.query(MakoOrder.self).fetch().array }
    func close() throws { try database.close() }
}
